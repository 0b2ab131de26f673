"""Pages of HTML that hold all they show: the report of a comparison, the page of a study, and the list of studies."""
