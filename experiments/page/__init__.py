"""Pages of HTML that hold all they show: of a comparison, a study, a recording, and the list of studies."""
