"""How a token is chosen, written down token by token in float64."""

import numpy as np


def probabilities(
    logits, used=(), forbidden=(), temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, penalty=1.0
):
    """What to draw from: probabilities by token, for the logits of one row."""
    scores = {token: float(value) for token, value in enumerate(logits) if token not in forbidden}
    for token in scores:
        if token in used:
            value = scores[token]
            scores[token] = value / penalty if value > 0 else value * penalty
    ranking = sorted(scores, key=lambda token: (-scores[token], token))
    if temperature == 0:
        return {ranking[0]: 1.0}
    best = scores[ranking[0]]
    weights = {token: np.exp((scores[token] - best) / temperature) for token in scores}
    if top_k:
        ranking = ranking[:top_k]
    total, nucleus = sum(weights[token] for token in ranking), []
    for token in ranking:
        if not nucleus or top_p >= 1 or sum(weights[t] for t in nucleus) / total < top_p:
            nucleus.append(token)
    kept = [token for token in nucleus if weights[token] >= min_p * weights[ranking[0]]]
    total = sum(weights[token] for token in kept)
    return {token: weights[token] / total for token in kept}


def draw(probabilities, noise):
    """The token that a row's Gumbel noise makes the best."""
    return max(probabilities, key=lambda token: np.log(probabilities[token]) + noise[token])
