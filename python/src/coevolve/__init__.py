"""Reads and steers coevolve's campaigns over its HTTP API.

>>> import coevolve
>>> run = coevolve.connect()
>>> run.campaigns_df()
>>> run.campaign("my-first").scores_df()
"""

from coevolve.campaign import Campaign
from coevolve.client import Client, connect
from coevolve.errors import ApiError, CoevolveError, NotConnectedError
from coevolve.frames import to_polars

__all__ = ["ApiError", "Campaign", "Client", "CoevolveError", "NotConnectedError", "connect", "to_polars"]
