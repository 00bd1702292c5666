"""The files of a project, as the page Files shows and edits them."""
