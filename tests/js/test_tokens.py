"""Tokens that node exchanges with Python's issuer, and that Python's collector takes."""

from __future__ import annotations

import json

import pytest

from tests.js._node import HERE, node
from tests.spec.collector._tokens import DRAWN, ONE, keys, study_of
from warner.collector.access import new_codes
from warner.collector.submissions import SubmissionFormat
from warner.collector.survey_document import survey_bytes
from warner.collector.tokens import block_of_code, request_in, token_id


@pytest.mark.parametrize("text, count", [(ONE, 1), (DRAWN, 3)])
def test_a_token_that_node_exchanges_is_taken(text: str, count: int) -> None:
    study = study_of(text, count)
    for code in new_codes(count):
        answers = dict.fromkeys(("smokes", "drinks", "bets"), "yes")
        asked = {"served": survey_bytes(study).decode(), "code": code, "answers": answers}
        if count == 1:
            asked["answers"] = {"smokes": "yes"}
        told = json.loads(node(str(HERE / "tokens.mjs"), text=json.dumps(asked)))
        plain, blinded = request_in(bytes.fromhex(told["request"]), study.layout)
        block = block_of_code(study, code)
        assert plain == code.replace("-", "") and told.get("block", 0) == block
        asked |= {"drawn": told["drawn"], "signed": keys(count)[block].sign(blinded).hex()}
        body = node(str(HERE / "tokens.mjs"), text=json.dumps(asked))
        batch = SubmissionFormat(study).parse(bytes.fromhex(body))
        prefix = bytes.fromhex(told["drawn"])[:32]
        assert batch.ids[0].tobytes() == token_id(study.digest, prefix)
