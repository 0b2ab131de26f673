"""Which nodes are one section: where what does not fit is cut, and what each way is predicted to take."""
