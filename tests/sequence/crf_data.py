"""A small corpus with signal, and CRFsuite's answer to it."""

import numpy as np
import pycrfsuite


def corpus(n=40, seed=0, labels="ABC"):
    """Sentences of tokens as dicts: words that tell something about the labels, flags and numbers."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        sentence, tags, tag = [], [], 0
        for t in range(rng.integers(1, 8)):
            step = rng.integers(2) if rng.random() < 0.8 else rng.integers(len(labels))
            tag = int(tag + step) % len(labels)
            word = f"w{3 * tag + rng.integers(4)}"
            size = float(rng.integers(1, 4)) / 2
            sentence.append({"word": word, "cap": bool(rng.random() < 0.4), "size": size, "first": t == 0})
            tags.append(labels[tag])
        X.append(sentence)
        y.append(tags)
    return X, y


def steps_corpus(n=30, seed=0, most=6):
    """Sentences whose tokens say what they are, and whether the label is that of the token before."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        label, sentence, tags = int(rng.integers(3)), [], []
        for t in range(rng.integers(1, most + 1)):
            sign = str(rng.choice(["stay", "on", "any"]))
            if t:
                label = (label + {"stay": 0, "on": 1, "any": int(rng.integers(3))}[sign]) % 3
            word = f"w{label if rng.random() < 0.6 else rng.integers(3)}"
            sentence.append({"word": word, "step": {"sign": sign, "size": float(rng.integers(1, 4)) / 2}})
            tags.append("ABC"[label])
        X.append(sentence)
        y.append(tags)
    return X, y


def crfsuite(path, X, y, algorithm="lbfgs", **parameters):
    """CRFsuite's tagger and its weights (of which it prints six digits)."""
    trainer = pycrfsuite.Trainer(algorithm, parameters, verbose=False)
    for sentence, tags in zip(X, y):
        trainer.append(sentence, tags)
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger, tagger.info()


def differences(model, info):
    """How far the weights of a model are from CRFsuite's, which leaves out those that are zero."""
    states, steps = model.state_features_, model.transition_features_
    assert set(info.state_features) <= set(states)
    assert set(info.transitions) <= set(steps)
    gaps = [abs(w - info.state_features.get(key, 0.0)) for key, w in states.items()]
    return max(gaps + [abs(w - info.transitions.get(key, 0.0)) for key, w in steps.items()])
