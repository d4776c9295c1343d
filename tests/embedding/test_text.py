import pickle
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

from skim import ALTBIDetector
from skim.embedding import TextEmbedder, weights_home
from tests.embedding.conftest import WORDS

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="session")
def text(text_folder, text_texts):
    return TextEmbedder(model=text_folder).fit(text_texts)


def directly(folder, texts, pooling):
    """Embed each text separately, with transformers alone."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    network = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False)
    with torch.no_grad():
        hidden = [
            network(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
            for text in texts
        ]
    return np.stack([h[0] if pooling == "cls" else h.mean(0) for h in hidden])


# What comes out -------------------------------------------------------------------


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("batch_size", [1, 3, 32])
def test_embedding_is_what_transformers_gives(
    text_folder, text_texts, pooling, batch_size
):
    embedder = TextEmbedder(model=text_folder, pooling=pooling, batch_size=batch_size)
    embedding = embedder.fit_transform(text_texts)
    assert embedding.dtype == np.float32
    expected = directly(text_folder, text_texts, pooling)
    assert_allclose(embedding, normalize(expected), atol=1e-5)
    unscaled = TextEmbedder(model=text_folder, pooling=pooling, normalize=False)
    assert_allclose(unscaled.fit_transform(text_texts), expected, atol=1e-5)


def test_every_kind_of_input_gives_the_same(text, text_texts):
    expected = text.transform(text_texts)
    for texts in (
        tuple(text_texts),
        np.array(text_texts),
        np.array(text_texts, dtype=object)[:, None],
        pd.Series(text_texts),
        pd.Series(text_texts, dtype="string"),
        pd.DataFrame({"note": text_texts}),
    ):
        assert_array_equal(text.transform(texts), expected)


def test_order_of_the_rows_is_kept(text, text_texts):
    shuffled = np.random.default_rng(1).permutation(len(text_texts))
    embedding = text.transform([text_texts[row] for row in shuffled])
    assert_allclose(embedding, text.transform(text_texts)[shuffled], atol=1e-6)


def test_texts_of_similar_length_share_a_batch(text_folder):
    padded = []

    def spy(texts):
        tokens = loaded.prepare(texts)
        padded.append(int((tokens["attention_mask"] == 0).sum()))
        return tokens

    texts = ["cat", "cat sat on the mat"] * 4
    embedder = TextEmbedder(model=text_folder, batch_size=4).fit(texts)
    loaded = embedder._loaded
    embedder._loaded = loaded._replace(prepare=spy)
    embedder.transform(texts)
    assert padded == [0, 0]


def test_empty_text_is_represented_by_special_tokens(text, text_folder):
    expected = normalize(directly(text_folder, [""], "mean"))
    assert_allclose(text.transform(["", "cat"])[:1], expected, atol=1e-5)


def test_long_texts_are_truncated(text, text_folder):
    long = ["cat " * 100]
    assert_array_equal(text.transform(long), text.transform(["cat " * 22]))
    short = TextEmbedder(model=text_folder, max_length=5).fit(long)
    assert_array_equal(short.transform(long), short.transform(["cat " * 3]))
    assert not np.allclose(short.transform(long), text.transform(long))
    with pytest.raises(ValueError, match=r"more than the 24 tokens"):
        TextEmbedder(model=text_folder, max_length=25).fit(long)


def test_maximum_length_of_a_sentence_model_is_used(tmp_path, text_folder):
    folder = shutil.copytree(text_folder, tmp_path / "own")
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 6}')
    embedder = TextEmbedder(model=folder).fit(["cat"])
    long = embedder.transform(["cat " * 20])
    assert_array_equal(long, embedder.transform(["cat " * 4]))


# Bad input ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("cat", r"one string"),
        ([], r"0 sample"),
        (["cat", None], r"got None in row 1"),
        (["cat", "mat", np.nan], r"got nan in row 2"),
        (pd.Series(["cat", None], dtype="string"), r"got <NA> in row 1"),
        ([3], r"got 3 in row 0"),
        ([b"cat"], r"got b'cat' in row 0"),
        (np.zeros((2, 2)), r"one column"),
        (np.zeros((2, 1)), r"got 0.0 in row 0"),
    ],
)
def test_bad_texts_are_refused(text, text_folder, texts, message):
    with pytest.raises(ValueError, match=message):
        TextEmbedder(model=text_folder).fit(texts)
    with pytest.raises(ValueError, match=message):
        text.transform(texts)


def test_bad_settings_are_refused():
    for bad in ({"max_length": 2}, {"model": len}):
        with pytest.raises(ValueError, match=r"must be"):
            TextEmbedder(**bad).fit(["cat"])


# The cache ------------------------------------------------------------------------


def test_cache_depends_on_content_settings_and_weights(
    tmp_path, text_folder, text_texts, monkeypatch
):
    n_runs = 0
    run = TextEmbedder._run

    def spy(self, texts):
        nonlocal n_runs
        n_runs += 1
        return run(self, texts)

    monkeypatch.setattr(TextEmbedder, "_run", spy)

    def n_calls(texts, **settings):
        settings = {"model": text_folder, "memory": str(tmp_path / "cache")} | settings
        embedder = TextEmbedder(**settings).fit(texts)
        before = n_runs
        embedding = embedder.transform(texts)
        assert_array_equal(embedding, embedder.set_params(memory=None).transform(texts))
        return n_runs - before - 1

    assert n_calls(text_texts) == 1
    assert n_calls(text_texts) == 0
    assert n_calls(text_texts[1:]) == 1
    assert n_calls(["cat", "mat"]) == 1
    assert n_calls(["ca", "tmat"]) == 1
    assert n_calls(text_texts, pooling="cls") == 1
    assert n_calls(text_texts, max_length=4) == 1
    other = shutil.copytree(text_folder, tmp_path / "own")
    assert n_calls(text_texts, model=other) == 0
    network = transformers.BertModel.from_pretrained(other, add_pooling_layer=False)
    with torch.no_grad():
        network.embeddings.word_embeddings.weight += 1
    network.save_pretrained(other)
    assert n_calls(text_texts, model=other) == 1


# In use ---------------------------------------------------------------------------


def test_column_of_a_table_can_be_embedded(text_folder, text_texts):
    table = pd.DataFrame({"note": text_texts, "amount": np.arange(7.0)})
    for column in ("note", ["note"]):
        columns = ColumnTransformer(
            [("note", TextEmbedder(model=text_folder), column)], remainder="passthrough"
        )
        assert columns.fit_transform(table).shape == (7, 17)


def test_pipeline_with_a_detector(text_folder):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, size=rng.integers(4, 9))) for _ in range(100)]
    assert len(set(texts)) == 100  # equal ones could not be told apart
    pipeline = make_pipeline(
        TextEmbedder(model=text_folder),
        ALTBIDetector(epochs=5, contamination=0.1, random_state=0),
    )
    labels = pipeline.fit(texts).predict(texts)
    assert np.count_nonzero(labels == -1) == 10
    assert_array_equal(pickle.loads(pickle.dumps(pipeline)).predict(texts), labels)


# The real weights -----------------------------------------------------------------


def test_similar_sentences_are_close():
    folder = Path(weights_home()) / "all-MiniLM-L6-v2"
    if not (folder / "config.json").is_file():
        pytest.skip("weights not cached")
    embedding = TextEmbedder(n_jobs=1).fit_transform(
        [
            "A kitten is napping on the couch.",
            "The cat sleeps on the sofa.",
            "Stock prices fell sharply today.",
        ]
    )
    embedding /= np.linalg.norm(embedding, axis=1, keepdims=True)
    nap, sleep, stocks = embedding
    assert embedding.shape == (3, 384)
    assert nap @ sleep > 0.6
    assert max(nap @ stocks, sleep @ stocks) < 0.2
