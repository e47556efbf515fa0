"""No secret is written down, and a resumed run gets it back from the environment or says which is missing."""

import pytest

from whichbits.conduct.secrets import recordable, with_secrets
from whichbits.errors import BadInput
from whichbits.study.model import Study
from whichbits.study.read import quickstart

STUDY = Study.model_validate(
    quickstart().model_dump(mode="json")
    | {
        "every_arm": {"environment": {"HF_TOKEN": "hf-1"}},
        "arms": {
            "a": {
                "weight_format": "fp16",
                "model": "m",
                "options": {"ssl-keyfile-password": "o-5", "max_num_batched_tokens": 512},
                "environment": {"MY_API_KEY": "k-2", "DB_PASSWORD": "p-3", "CLIENT_SECRET": "s-4", "THREADS": "2"},
            }
        },
    }
)


def test_the_recorded_study_holds_no_secret_and_every_setting() -> None:
    recorded = recordable(STUDY)

    assert not [secret for secret in ("hf-1", "k-2", "p-3", "s-4", "o-5") if secret in str(recorded)]
    assert recorded["arms"]["a"]["environment"]["THREADS"] == "2"
    assert recorded["arms"]["a"]["options"]["max_num_batched_tokens"] == 512


def test_a_recorded_study_gets_its_secrets_back_from_the_environment() -> None:
    exported = {"HF_TOKEN": "hf-9", "MY_API_KEY": "k-9", "DB_PASSWORD": "p-9", "CLIENT_SECRET": "s-9", "THREADS": "64"}
    recorded = Study.model_validate(recordable(STUDY))
    resumed = with_secrets(recorded, exported | {"SSL_KEYFILE_PASSWORD": "o-9"})

    assert resumed.arms["a"].environment == exported | {"THREADS": "2"}
    assert resumed.arms["a"].options == {"ssl-keyfile-password": "o-9", "max_num_batched_tokens": 512}
    with pytest.raises(BadInput, match="ssl-keyfile-password") as refused:
        with_secrets(recorded, exported)
    assert refused.value.fix == "export SSL_KEYFILE_PASSWORD=..., then resume"


def test_a_missing_secret_is_named() -> None:
    with pytest.raises(BadInput) as refused:
        with_secrets(Study.model_validate(recordable(STUDY)), {"HF_TOKEN": "hf-9", "DB_PASSWORD": "p-9"})

    assert "MY_API_KEY, CLIENT_SECRET" in refused.value.what
    assert "HF_TOKEN" not in refused.value.what
    assert refused.value.fix == "export MY_API_KEY=... CLIENT_SECRET=..., then resume"
