"""What a policy decides, as terms over one state and the outputs of its networks.

Argmax: a quantity says which output counts as the best, and it must be at least as large as the others (with
exact arithmetic: larger than those before it). So where outputs tie within their rounding error every such
action is possible, and everything said about one step is about the same choice. Nothing here excludes a
state: where the policy has no value (`undefined`) the quantities are free.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import Control, Environment
from surefoot.problem.meaning.decision import action_names
from surefoot.problem.policy import Choose, NeuralPolicy, OraclePolicy, Policy, ProgramPolicy, ShieldedPolicy
from surefoot.reductions.expand import (
    TreeScope,
    expand_scalar,
    merge_branches,
    require_scalar,
    undefined_condition,
)
from surefoot.reductions.network_call import EncodedCall, encode_network_call
from surefoot.reductions.scalar_layout import fresh_name
from surefoot.term.interval import Scalar, decide_by_bounds, is_infinite, term_interval
from surefoot.term.reserved_names import chosen_name
from surefoot.term.term import (
    FALSE,
    TRUE,
    Apply,
    Const,
    Op,
    Term,
    Var,
    conjunction_of,
    disjunction_of,
    equal,
    negate_condition,
)
from surefoot.term.value_types import Int, Real


@dataclass(frozen=True, slots=True)
class EncodedDecision:
    """The decision where some action of the policy is enabled (or where it sets controls)."""

    picks: Mapping[str, Term] = field(default_factory=dict)  # is this action among those it may take?
    stalls: Term = FALSE
    controls: tuple[Term, ...] = ()
    outputs: tuple[Term, ...] | None = None
    undefined: Term = FALSE


@dataclass(frozen=True, slots=True)
class PolicyContext:
    """Where a policy is asked, and what asking it has declared so far."""

    environment: Environment
    scope: TreeScope
    enabled: Mapping[str, Term]  # per action of the whole policy
    rounding: bool
    taken: set[str]
    kinds: dict[str, Scalar]  # the state's scalars and what the policy adds to them
    constraints: list[Term] = field(default_factory=list)
    calls: list[EncodedCall] = field(default_factory=list)
    asked: list[tuple[NeuralPolicy, EncodedDecision]] = field(default_factory=list)

    def with_names(self, more: TreeScope) -> PolicyContext:
        return replace(self, scope={**self.scope, **more})


def encode_decision(policy: Policy, setting: PolicyContext) -> EncodedDecision:
    """The decision of a policy; controls become quantities of their own."""
    if not setting.environment.controls:
        return _encode_policy(policy, setting)
    decided = _encode_policy(policy, setting)
    names = []
    for control, value in zip(setting.environment.controls, decided.controls, strict=True):
        name = fresh_name(control.name, setting.taken)
        low, high = (
            None if is_infinite(end) else Fraction(end) for end in term_interval(value, setting.kinds)
        )
        setting.kinds[name] = Real(low, high)
        # Where the policy has no value the state exists all the same.
        setting.constraints.append(disjunction_of((decided.undefined, equal(Var(name), value))))
        names.append(Var(name))
    return replace(decided, controls=tuple(names))


def _encode_policy(policy: Policy, setting: PolicyContext) -> EncodedDecision:
    match policy:
        case NeuralPolicy():
            return _encode_neural(policy, setting)
        case ProgramPolicy(branches):
            # Without actions to stall on, a program in which no branch applies has no meaning.
            nothing = tuple(Const(0) for _ in setting.environment.controls)
            decided = (
                EncodedDecision(controls=nothing, undefined=TRUE) if nothing else EncodedDecision(stalls=TRUE)
            )
            for branch in reversed(branches):
                decided = _merge_decisions(
                    branch.when, _encode_branch(branch.then, setting), decided, setting
                )
            return decided
        case ShieldedPolicy(inner, permits, fallback):
            return _encode_shielded(inner, permits, fallback, setting)
        case OraclePolicy(name):
            raise Unsupported(f"the oracle `{name}` can only be simulated")


def _merge_decisions(
    when: Term, first: EncodedDecision, second: EncodedDecision, setting: PolicyContext
) -> EncodedDecision:
    """`first` where the condition holds, `second` elsewhere."""
    unclear = undefined_condition(when, setting.scope, setting.kinds)
    test = decide_by_bounds(expand_scalar(when, setting.scope), setting.kinds)
    if unclear == FALSE and isinstance(test, Const):
        return first if test == TRUE else second

    def choice(then: Term, otherwise: Term) -> Term:
        return disjunction_of(
            (conjunction_of((test, then)), conjunction_of((negate_condition(test), otherwise)))
        )

    both = dict.fromkeys((*first.picks, *second.picks))
    return EncodedDecision(
        {a: choice(first.picks.get(a, FALSE), second.picks.get(a, FALSE)) for a in both},
        choice(first.stalls, second.stalls),
        _merge_values(test, first.controls, second.controls) or first.controls or second.controls,
        _merge_values(test, first.outputs or (), second.outputs or ()) or None,
        disjunction_of((unclear, choice(first.undefined, second.undefined))),
    )


def _merge_values(test: Term, first: tuple[Term, ...], second: tuple[Term, ...]) -> tuple[Term, ...]:
    """Value by value; as many as both have."""
    return tuple(require_scalar(merge_branches(test, a, b)) for a, b in zip(first, second, strict=False))


def _encode_branch(then: str | tuple[Term, ...] | Policy, setting: PolicyContext) -> EncodedDecision:
    controls = setting.environment.controls
    if isinstance(then, str):
        if controls:
            raise InvalidProblem("a branch picks an action, but the environment has controls")
        return EncodedDecision({then: TRUE}, negate_condition(setting.enabled.get(then, FALSE)))
    if isinstance(then, tuple):
        if len(then) != len(controls):
            raise InvalidProblem(f"a branch sets {len(then)} controls; the environment has {len(controls)}")
        unclear = disjunction_of(tuple(undefined_condition(t, setting.scope, setting.kinds) for t in then))
        values = (expand_scalar(t, setting.scope) for t in then)
        return EncodedDecision(controls=tuple(map(_clip_control, controls, values)), undefined=unclear)
    return _encode_policy(then, setting)


def _encode_shielded(
    inner: Policy, permits: Term, fallback: Policy, setting: PolicyContext
) -> EncodedDecision:
    proposed = _encode_policy(inner, setting)
    controls = setting.environment.controls
    if controls:
        names = {c.name: value for c, value in zip(controls, proposed.controls, strict=True)}
    else:
        own = action_names(inner, setting.environment)
        names = {chosen_name(a): proposed.picks.get(a, FALSE) for a in own}
    safe = replace(_encode_policy(fallback, setting), outputs=proposed.outputs)
    together = _merge_decisions(permits, proposed, safe, setting.with_names(names))
    return replace(together, undefined=disjunction_of((proposed.undefined, together.undefined)))


def _clip_control(control: Control, value: Term) -> Term:
    if not control.clipped:
        return value
    raised = value if control.low is None else Apply(Op.MAX, (value, Const(control.low)))
    return raised if control.high is None else Apply(Op.MIN, (raised, Const(control.high)))


def _encode_neural(policy: NeuralPolicy, setting: PolicyContext) -> EncodedDecision:
    """What a network decides; one that occurs in several places is asked once."""
    for earlier, made in setting.asked:
        if earlier is policy:
            return made
    call = encode_network_call(policy, setting.scope, setting.kinds, setting.taken, setting.rounding)
    setting.calls.append(call)
    outputs = tuple(Var(name) for name in call.outputs)
    unclear = disjunction_of(
        tuple(undefined_condition(t, setting.scope, setting.kinds) for t in policy.observe)
    )
    made = replace(_encode_output_choice(policy, outputs, setting), outputs=outputs)
    made = replace(made, undefined=disjunction_of((unclear, made.undefined)))
    setting.asked.append((policy, made))
    return made


def _encode_output_choice(
    policy: NeuralPolicy, outputs: tuple[Var, ...], setting: PolicyContext
) -> EncodedDecision:
    controls = setting.environment.controls
    names = () if controls else action_names(policy, setting.environment)
    if len(outputs) != len(controls or names):
        raise InvalidProblem(
            f"network `{policy.network.name}` has {len(outputs)} outputs for {len(controls or names)} "
            f"{'controls' if controls else 'actions'}"
        )
    if controls:
        return EncodedDecision(controls=tuple(map(_clip_control, controls, outputs)))
    enabled = [setting.enabled.get(n, FALSE) for n in names]
    match policy.choose:
        case Choose.SAMPLE:
            return EncodedDecision(
                dict.fromkeys(names, TRUE), negate_condition(conjunction_of(tuple(enabled)))
            )
        case Choose.VALUE:
            raise InvalidProblem('`choose = "value"` needs an environment with controls')
        case Choose.ARGMAX:
            picked = _encode_argmax(outputs, [TRUE] * len(names), setting)
            missed = (conjunction_of((p, negate_condition(e))) for p, e in zip(picked, enabled, strict=True))
            return EncodedDecision(_by_name(names, picked), disjunction_of(tuple(missed)))
        case Choose.ARGMAX_APPLICABLE:
            picks = _by_name(names, _encode_argmax(outputs, enabled, setting))
            # Inside a program or shield only actions of others may be enabled: nothing to choose from.
            others = disjunction_of(tuple(e for a, e in setting.enabled.items() if a not in names))
            return EncodedDecision(picks, undefined=conjunction_of((others, *map(negate_condition, enabled))))


def _by_name(names: tuple[str, ...], picked: list[Term]) -> dict[str, Term]:
    return {n: disjunction_of(tuple(p for p, m in zip(picked, names, strict=True) if m == n)) for n in names}


def _encode_argmax(outputs: tuple[Var, ...], among: list[Term], setting: PolicyContext) -> list[Term]:
    """Which output is the best of those that count: a condition for each, exactly one of which holds."""
    if len(outputs) == 1:
        return [TRUE]
    name = fresh_name("action", setting.taken)
    setting.kinds[name] = Int(0, len(outputs) - 1)
    picked: list[Term] = [equal(Var(name), k) for k in range(len(outputs))]
    options = []
    out = [negate_condition(counts) for counts in among]  # one object for all rivals that it is said of
    for k, best in enumerate(outputs):
        beaten = []
        for other, rival in enumerate(outputs):
            strict = not setting.rounding and other < k  # exact ties go to the lowest index
            if other != k:
                beaten.append(disjunction_of((out[other], best > rival if strict else best >= rival)))
        options.append(conjunction_of((picked[k], among[k], *beaten)))
    setting.constraints.append(
        disjunction_of((conjunction_of(tuple(map(negate_condition, among))), *options))
    )
    return picked
