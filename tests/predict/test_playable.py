"""Traffic that shares more than one prefix is refused; everything else is played with what it shares."""

from pathlib import Path

import pytest

from tests.predict.studies import *  # noqa: F403 - replaced below
