"""What every part of a study file is: unchangeable once read, and intolerant of keys it does not know."""

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """Frozen, and refuses keys that it does not know, and numbers that are none or endless."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
