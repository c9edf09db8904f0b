"""Study files: from the text of a file to mechanisms, domains and budgets."""
