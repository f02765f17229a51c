"""ScienceWorld: thirty kinds of science experiments in a text world (Wang et al., arXiv:2203.07540)."""
