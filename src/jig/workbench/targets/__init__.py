"""The compute targets of a project, as the page Targets shows, attaches and detaches them."""
