"""What scripts and notebooks are handed: values that show themselves, are saved whole, and become data frames."""
