"""One module per table or figure of the paper, with the paper's values beside ours."""
