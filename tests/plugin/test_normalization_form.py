import json

import pytest

from napari_onnxseg.pipeline.job import SegmentJob
from napari_onnxseg.pipeline.record import plain
from napari_onnxseg.plugin.normalization_form import AS_DESCRIBED, NormalizationForm
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.prepare.steps import Step

CHAIN = Normalization(
    "steps",
    steps=(
        Step("clip", low=-100, high=300),
        Step("standardize", mean=40, std=60),
    ),
)
DIVIDED = Normalization("standardize", scale=10, mean=(0.5,), std=(0.2,))


@pytest.fixture
def form_of(qtbot):
    def make(given):
        form = NormalizationForm(given)
        qtbot.addWidget(form)
        return form

    return make


@pytest.mark.parametrize("given", [CHAIN, DIVIDED], ids=lambda given: given.method)
def test_what_cannot_be_edited_is_shown_in_words_and_kept(form_of, given):
    form = form_of(given)
    assert form.method.currentText() == AS_DESCRIBED
    assert form.described.text() == given.words()
    assert form.described.isVisibleTo(form)
    assert not form.scale.isVisibleTo(form)
    assert form.normalization == given


def test_another_method_can_be_chosen_and_the_chain_again(form_of, qtbot):
    form = form_of(CHAIN)
    with qtbot.waitSignal(form.changed):
        form.method.choose("divide")
    assert not form.described.isVisibleTo(form)
    assert form.scale.isVisibleTo(form)
    assert form.normalization == Normalization("divide")
    form.method.choose("steps")
    assert form.described.isVisibleTo(form)
    assert form.normalization == CHAIN


def test_methods_that_can_be_edited_offer_no_chain(form_of):
    form = form_of(Normalization("unit"))
    offered = [form.method.itemText(row) for row in range(form.method.count())]
    assert AS_DESCRIBED not in offered
    assert not form.described.isVisibleTo(form)


def test_a_chain_survives_the_job_and_its_record(form_of):
    job = SegmentJob("boxes", normalization=form_of(CHAIN).normalization)
    record = json.loads(json.dumps(plain(job.normalization)))
    assert Normalization.from_json(record) == job.normalization
