"""What each class of layer looks at, and how it acts on distinct rows. One registry; each rule stands beside its code."""

from dropgnn.engine.rules.rule import RULES, Rule, rule_of

__all__ = ["RULES", "Rule", "rule_of"]
