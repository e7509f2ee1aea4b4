"""The panels: Qt, pyqtgraph and vispy over the core."""
