"""TextWorldExpress: eight small text games on a fast simulator (Jansen and Côté 2022, arXiv:2208.01174)."""
