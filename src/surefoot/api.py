"""Everything that users, the command line, the integrations and the studies need, in one place.

    import surefoot as sf
    p = sf.load("toy.toml", property="below_ten")
    r = sf.check(p, engine="bmc", timeout=60)
    print(r)

`import surefoot` offers `USER_NAMES`. The command line, the integrations and the studies write
`from surefoot import api` and `api.check(...)`; they import nothing else of surefoot. A name is imported
when it is first used: neither a command's help nor a usage error waits for engines.
"""
# ruff: noqa: I001 - names that are offered to type checkers are written `name as name`

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if (
    TYPE_CHECKING
):  # the names of the table below, for type checkers; tests/test_public_names.py holds both equal
    from surefoot.engines.barrier import Barrier as Barrier
    from surefoot.engines.barrier.float_system import evaluate_polynomial as evaluate_polynomial
    from surefoot.engines.barrier.sos_candidate import template_objection as template_objection
    from surefoot.engines.bmc import Bmc as Bmc
    from surefoot.engines.explicit import Explicit as Explicit
    from surefoot.engines.induction import Induction as Induction
    from surefoot.engines.predicates import Predicates as Predicates
    from surefoot.engines.predicates.configurations import CONFIGURATIONS as CONFIGURATIONS
    from surefoot.engines.protocol import Engine as Engine
    from surefoot.engines.recurrence import Recurrence as Recurrence
    from surefoot.engines.statistical import Statistical as Statistical
    from surefoot.errors import (
        InvalidProblem as InvalidProblem,
        MissingBackend as MissingBackend,
        SurefootError as SurefootError,
        Unsupported as Unsupported,
        WrongType as WrongType,
        did_you_mean as did_you_mean,
    )
    from surefoot.formats.jani import read_jani as read_jani, write_jani as write_jani
    from surefoot.formats.model_file import (
        LoadedModel as LoadedModel,
        file_sha256 as file_sha256,
        parse_constants as parse_constants,
    )
    from surefoot.formats.onnx import read_onnx_network as read_onnx_network
    from surefoot.formats.policy_file import load_policy as load_policy
    from surefoot.interface.environment import Environment as Environment
    from surefoot.interface.expression import (
        Expression as Expression,
        array as array,
        boolean as boolean,
        choose_value as choose_value,
        integer as integer,
        real as real,
    )
    from surefoot.interface.policy import AnyPolicy as AnyPolicy, Policy as Policy
    from surefoot.interface.properties import (
        eventually as eventually,
        expected_reward as expected_reward,
        never as never,
        never_before as never_before,
        probability_of as probability_of,
        recurs as recurs,
        within as within,
    )
    from surefoot.interface.questions import (
        check as check,
        check_certificate as check_certificate,
        heatmap as heatmap,
        load as load,
        probability as probability,
        shield as shield,
    )
    from surefoot.interface.result import CheckResult as CheckResult
    from surefoot.network.evaluate import evaluate_network_batch as evaluate_network_batch
    from surefoot.network.interval import interval_bounds as interval_bounds
    from surefoot.problem.environment import (
        Choice as Choice,
        Component as Component,
        Control as Control,
        Edge as Edge,
        Law as Law,
        Outcome as Outcome,
        Synchronisation as Synchronisation,
        Update as Update,
        Variable as Variable,
    )
    from surefoot.problem.flow import Flow as Flow
    from surefoot.problem.meaning.decision import observation_vector as observation_vector
    from surefoot.problem.meaning.inference import infer_all_values as infer_all_values
    from surefoot.problem.network import (
        Activation as Activation,
        Affine as Affine,
        Combine as Combine,
        Constant as Constant,
        Elementwise as Elementwise,
        Join as Join,
        Network as Network,
        Node as Node,
        Pairing as Pairing,
        Pick as Pick,
        Shape as Shape,
        dense_network as dense_network,
        freeze_float32 as freeze_float32,
        freeze_indices as freeze_indices,
        shift_node_sources as shift_node_sources,
    )
    from surefoot.problem.policy import (
        Branch as Branch,
        Choose as Choose,
        EdgesOf as EdgesOf,
        NeuralPolicy as NeuralPolicy,
        ProgramPolicy as ProgramPolicy,
        ShieldedPolicy as ShieldedPolicy,
    )
    from surefoot.problem.problem import Problem as Problem
    from surefoot.problem.property import (
        Eventually as Eventually,
        Expected as Expected,
        Never as Never,
        NeverBefore as NeverBefore,
        Path as Path,
        Probability as Probability,
        Property as Property,
        Recurs as Recurs,
        Within as Within,
    )
    from surefoot.problem.property_parser import parse_property as parse_property
    from surefoot.problem.property_printer import show_property as show_property
    from surefoot.problem.semantics import (
        Move as Move,
        State as State,
        apply_move as apply_move,
        holds_in_state as holds_in_state,
        permitted_transitions as permitted_transitions,
    )
    from surefoot.problem.validate.distribution import normalise_probabilities as normalise_probabilities
    from surefoot.problem.window import interleave_windows as interleave_windows, window as window
    from surefoot.query.polynomial import Polynomial as Polynomial
    from surefoot.reductions.barrier import (
        ControlSystem as ControlSystem,
        read_control_system as read_control_system,
    )
    from surefoot.reductions.bound_template import parse_bound_template as parse_bound_template
    from surefoot.reductions.discretise import discretise as discretise
    from surefoot.report.drawing import render_png as render_png, render_svg as render_svg
    from surefoot.report.heatmap import (
        Figure as Figure,
        Panel as Panel,
        build_figure as build_figure,
        common_axes as common_axes,
        draw_figure as draw_figure,
        effort_table as effort_table,
        heat_map as heat_map,
        heat_page as heat_page,
        parse_view as parse_view,
        value_table as value_table,
    )
    from surefoot.report.heatmap.figure_data import figure_to_json as figure_to_json
    from surefoot.report.heatmap.heat_figure import measure_of as measure_of, unit_of as unit_of
    from surefoot.report.heatmap.learning_curve import Curve as Curve
    from surefoot.report.html_page import render_html_page as render_html_page
    from surefoot.report.line_panels import (
        DataLine as DataLine,
        LinePanel as LinePanel,
        line_panels_svg as line_panels_svg,
    )
    from surefoot.report.region import (
        Scene as Scene,
        draw_scenes as draw_scenes,
        region_page as region_page,
        scene_to_json as scene_to_json,
    )
    from surefoot.report.result_text import render as render
    from surefoot.report.search_page import preformatted_html as preformatted_html
    from surefoot.report.search_plots import bounds_svg as bounds_svg
    from surefoot.run import verify as verify
    from surefoot.search import SearchSettings as SearchSettings, find_tipping_point as find_tipping_point
    from surefoot.shields.batch_guard import BatchGuard as BatchGuard
    from surefoot.shields.certified_shield import (
        ShieldSynthesis as ShieldSynthesis,
        make_certified_shield as make_certified_shield,
        shapes_for as shapes_for,
    )
    from surefoot.shields.evaluation.baselines import baseline_regulator as baseline_regulator
    from surefoot.shields.evaluation.plant import (
        BatchPlant as BatchPlant,
        Floats as Floats,
        by_network as by_network,
        covered_boxes as covered_boxes,
        draw_start_states as draw_start_states,
    )
    from surefoot.shields.evaluation.simulation import Campaign as Campaign
    from surefoot.term.evaluate import evaluate_term as evaluate_term
    from surefoot.term.parser import parse_term as parse_term
    from surefoot.term.printer import show_term as show_term
    from surefoot.term.reserved_names import (
        STALLED as STALLED,
        location_name as location_name,
        network_output_name as network_output_name,
        output_index as output_index,
    )
    from surefoot.term.term import (
        FALSE as FALSE,
        TRUE as TRUE,
        Apply as Apply,
        Const as Const,
        Op as Op,
        Operand as Operand,
        Term as Term,
        Var as Var,
        array_term as array_term,
        conjunction_of as conjunction_of,
        disjunction_of as disjunction_of,
        equal as equal,
        free_names as free_names,
        ite as ite,
        term_from_python as term_from_python,
    )
    from surefoot.term.value_types import (
        Arithmetic as Arithmetic,
        Array as Array,
        Bool as Bool,
        Int as Int,
        Real as Real,
    )
    from surefoot.verdict.artifact import (
        AbstractGraph as AbstractGraph,
        QueryStatistics as QueryStatistics,
        TippingPoint as TippingPoint,
    )
    from surefoot.verdict.sentences import count_noun as count_noun, interruption_note as interruption_note
    from surefoot.verdict.verdict import (
        Certificate as Certificate,
        Estimated as Estimated,
        Exact as Exact,
        Found as Found,
        Holds as Holds,
        PerStart as PerStart,
        Proved as Proved,
        Reason as Reason,
        Result as Result,
        Trace as Trace,
        Unknown as Unknown,
        Vacuous as Vacuous,
        Verdict as Verdict,
        Violated as Violated,
        is_interrupted as is_interrupted,
    )
    from surefoot.visible import join_visible as join_visible
    from surefoot.work.budget import Budget as Budget
    from surefoot.work.child import processor_time as processor_time
    from surefoot.work.interrupt import exit_process as exit_process, handle_interrupts as handle_interrupts
    from surefoot.work.processor_time import (
        ProcessorTime as ProcessorTime,
        processor_seconds as processor_seconds,
    )
    from surefoot.work.worker_pool import (
        ProcessPool as ProcessPool,
        SerialPool as SerialPool,
        WorkerPool as WorkerPool,
    )

_USER_SECTIONS: tuple[dict[str, str], ...] = (  # module below `surefoot` -> its names
    {  # Questions and answers
        ".interface.questions": "check check_certificate heatmap load probability shield",
        ".interface.result": "CheckResult",
        ".run": "verify",
        ".report.result_text": "render",
        ".work.budget": "Budget",
    },
    {  # Expressions over the state
        ".interface.expression": "Expression array boolean choose_value integer real",
        ".term.term": "FALSE TRUE Var equal ite",
        ".term.parser": "parse_term",
        ".term.value_types": "Array Bool Int Real",
    },
    {  # Environments, policies and their networks
        ".interface.environment": "Environment",
        ".problem.environment": "Choice Component Control Edge Outcome Update Variable",
        ".problem.validate.distribution": "normalise_probabilities",
        ".problem.window": "window",
        ".interface.policy": "Policy",
        ".problem.policy": "Branch NeuralPolicy ProgramPolicy ShieldedPolicy",
        ".problem.network": "Network",
        ".formats.policy_file": "load_policy",
    },
    {  # Properties and problems
        ".interface.properties": "eventually expected_reward never never_before probability_of recurs within",
        ".problem.property": "Eventually Never NeverBefore Recurs Within",
        ".problem.property_parser": "parse_property",
        ".problem.problem": "Problem",
    },
    {  # Engines
        ".engines.barrier": "Barrier",
        ".engines.bmc": "Bmc",
        ".engines.explicit": "Explicit",
        ".engines.induction": "Induction",
        ".engines.predicates": "Predicates",
        ".engines.recurrence": "Recurrence",
        ".engines.statistical": "Statistical",
    },
    {  # Verdicts
        ".verdict.verdict": "Estimated Exact Found Holds PerStart Proved Reason Unknown Vacuous Violated",
    },
    {  # Errors
        ".errors": "InvalidProblem MissingBackend SurefootError Unsupported WrongType",
    },
)
_TOOL_SECTIONS: tuple[dict[str, str], ...] = (  # beside these, for the command line, integrations and studies
    {  # Terms as data
        ".term.term": (
            "Apply Const Op Operand Term array_term conjunction_of disjunction_of free_names term_from_python"
        ),
        ".term.printer": "show_term",
        ".term.evaluate": "evaluate_term",
        ".term.value_types": "Arithmetic",
        ".term.reserved_names": "STALLED location_name network_output_name output_index",
    },
    {  # Parts of environments, policies and properties
        ".problem.environment": "Law Synchronisation",
        ".problem.flow": "Flow",
        ".problem.policy": "Choose EdgesOf",
        ".interface.policy": "AnyPolicy",
        ".problem.property": "Expected Path Probability Property",
        ".problem.property_printer": "show_property",
        ".problem.window": "interleave_windows",
    },
    {  # Nodes of a network, and what it computes
        ".problem.network": (
            "Activation Affine Combine Constant Elementwise Join Node Pairing Pick Shape dense_network "
            "freeze_float32 freeze_indices shift_node_sources"
        ),
        ".network.evaluate": "evaluate_network_batch",
        ".network.interval": "interval_bounds",
        ".problem.meaning.decision": "observation_vector",
        ".problem.meaning.inference": "infer_all_values",
    },
    {  # Steps of the meaning
        ".problem.semantics": "Move State apply_move holds_in_state permitted_transitions",
    },
    {  # Files
        ".formats.jani": "read_jani write_jani",
        ".formats.onnx": "read_onnx_network",
        ".formats.model_file": "LoadedModel file_sha256 parse_constants",
    },
    {  # Answers and their evidence
        ".verdict.verdict": "Certificate Result Trace Verdict is_interrupted",
        ".verdict.artifact": "AbstractGraph QueryStatistics TippingPoint",
        ".verdict.sentences": "count_noun interruption_note",
    },
    {  # Searches around an engine
        ".engines.protocol": "Engine",
        ".search": "SearchSettings find_tipping_point",
        ".reductions.bound_template": "parse_bound_template",
        ".reductions.discretise": "discretise",
    },
    {  # Shields of systems with real controls
        ".shields.certified_shield": "ShieldSynthesis make_certified_shield shapes_for",
        ".shields.batch_guard": "BatchGuard",
        ".shields.evaluation.baselines": "baseline_regulator",
        ".shields.evaluation.plant": "BatchPlant Floats by_network covered_boxes draw_start_states",
        ".shields.evaluation.simulation": "Campaign",
        ".reductions.barrier": "ControlSystem read_control_system",
        ".query.polynomial": "Polynomial",
        ".engines.barrier.float_system": "evaluate_polynomial",
        ".engines.barrier.sos_candidate": "template_objection",
        ".engines.predicates.configurations": "CONFIGURATIONS",
    },
    {  # Pictures and pages
        ".report.drawing": "render_png render_svg",
        ".report.heatmap": (
            "Figure Panel build_figure common_axes draw_figure effort_table heat_map heat_page "
            "parse_view value_table"
        ),
        ".report.heatmap.figure_data": "figure_to_json",
        ".report.heatmap.heat_figure": "measure_of unit_of",
        ".report.heatmap.learning_curve": "Curve",
        ".report.line_panels": "DataLine LinePanel line_panels_svg",
        ".report.region": "Scene draw_scenes region_page scene_to_json",
        ".report.html_page": "render_html_page",
        ".report.search_page": "preformatted_html",
        ".report.search_plots": "bounds_svg",
    },
    {  # Errors in words, processor time, other processes
        ".errors": "did_you_mean",
        ".visible": "join_visible",
        ".work.child": "processor_time",
        ".work.interrupt": "exit_process handle_interrupts",
        ".work.processor_time": "ProcessorTime processor_seconds",
        ".work.worker_pool": "ProcessPool SerialPool WorkerPool",
    },
)


def _find_homes(sections: tuple[dict[str, str], ...]) -> dict[str, str]:
    pairs = [
        (home, name) for section in sections for home, names in section.items() for name in names.split()
    ]
    return {name: f"surefoot{home}" for home, name in pairs}


USER_NAMES = tuple(sorted(_find_homes(_USER_SECTIONS)))
HOMES = _find_homes(_USER_SECTIONS + _TOOL_SECTIONS)  # name -> the module that defines it

if not TYPE_CHECKING:
    __all__ = sorted(HOMES)


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"module `surefoot.api` has no attribute `{name}`")
    found: object = getattr(import_module(HOMES[name]), name)
    globals()[name] = found  # the next time it is an attribute as any other
    return found


def __dir__() -> list[str]:
    return sorted(HOMES)
