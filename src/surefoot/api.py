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

# fmt: off
if TYPE_CHECKING:  # the names of the table below, for type checkers; a test holds both equal
    from surefoot.engines.barrier import Barrier as Barrier
    from surefoot.engines.barrier.float_system import Floats as Floats
    from surefoot.engines.barrier.float_system import evaluate_polynomial as evaluate_polynomial
    from surefoot.engines.barrier.sos_candidate import template_objection as template_objection
    from surefoot.engines.bmc import Bmc as Bmc
    from surefoot.engines.explicit import Explicit as Explicit
    from surefoot.engines.falsify import Falsify as Falsify
    from surefoot.engines.induction import Induction as Induction
    from surefoot.engines.predicates import Predicates as Predicates
    from surefoot.engines.predicates.configurations import CONFIGURATIONS as CONFIGURATIONS
    from surefoot.engines.protocol import Engine as Engine
    from surefoot.engines.reach import Reach as Reach
    from surefoot.engines.recurrence import Recurrence as Recurrence
    from surefoot.engines.selection import NoEngine as NoEngine
    from surefoot.engines.statistical import Statistical as Statistical
    from surefoot.engines.statistical.black_box import estimate_episode_reward as estimate_episode_reward
    from surefoot.engines.statistical.black_box import estimate_episode_success as estimate_episode_success
    from surefoot.errors import (
        InvalidProblem as InvalidProblem, MissingBackend as MissingBackend, SurefootError as SurefootError,
        Unsupported as Unsupported, WrongType as WrongType,
        did_you_mean as did_you_mean, missing_backend as missing_backend,
    )
    from surefoot.fault_analysis.training_data import export_faults as export_faults
    from surefoot.formats.barrier_file import is_foreign_barrier as is_foreign_barrier
    from surefoot.formats.barrier_file import read_barriers as read_barriers
    from surefoot.formats.gymnasium.gym_name import names_gym_model as names_gym_model
    from surefoot.formats.gymnasium.gym_name import split_gym_name as split_gym_name
    from surefoot.formats.gymnasium.live_environment import set_gym_arguments as set_gym_arguments
    from surefoot.formats.jani import read_jani as read_jani, write_jani as write_jani
    from surefoot.formats.prism import read_prism as read_prism, write_prism as write_prism
    from surefoot.formats.json_file import read_invariant as read_invariant, read_json as read_json
    from surefoot.formats.json_file import read_stored_results as read_stored_results
    from surefoot.formats.model_file import (
        PRISM_SUFFIXES as PRISM_SUFFIXES, LoadedModel as LoadedModel,
        file_sha256 as file_sha256, parse_constants as parse_constants,
        read_model as read_model, set_time_semantics as set_time_semantics,
    )
    from surefoot.formats.normalization import read_normalization as read_normalization
    from surefoot.formats.onnx import read_onnx_network as read_onnx_network
    from surefoot.formats.output_file import compact_json as compact_json, write_file as write_file
    from surefoot.formats.policy_file import load_policy as load_policy
    from surefoot.formats.predicate_list import read_conditions as read_conditions
    from surefoot.formats.problem_file import find_property_lines as find_property_lines
    from surefoot.formats.problem_file import write_problems as write_problems
    from surefoot.formats.result_json import (
        StoredResult as StoredResult,
        annotate_trace as annotate_trace, annotated_result_to_json as annotated_result_to_json,
        certificate_relative_to as certificate_relative_to, find_base_folder as find_base_folder,
        result_relative_to as result_relative_to,
    )
    from surefoot.formats.schemas import SCHEMAS as SCHEMAS, read_schema as read_schema
    from surefoot.formats.untrusted.regular_file import NO_SUCH_FILE as NO_SUCH_FILE
    from surefoot.formats.untrusted.regular_file import require_file as require_file
    from surefoot.interface.as_gym import as_gym as as_gym
    from surefoot.interface.certificate import check_certificate as check_certificate
    from surefoot.interface.environment import Environment as Environment, EnvironmentData as EnvironmentData
    from surefoot.interface.expression import (
        Expression as Expression, array as array, boolean as boolean, choose_value as choose_value,
        integer as integer, maximum as maximum, minimum as minimum, real as real,
    )
    from surefoot.interface.faults import PolicyFaults as PolicyFaults
    from surefoot.interface.gym_environment import GymEnvironment as GymEnvironment, gym as gym
    from surefoot.interface.policy import AnyPolicy as AnyPolicy, Policy as Policy
    from surefoot.interface.properties import (
        eventually as eventually, expected_reward as expected_reward, never as never,
        never_before as never_before, probability_of as probability_of, recurs as recurs, within as within,
    )
    from surefoot.interface.pose_problem import pose_problem as pose_problem
    from surefoot.interface.questions import check as check, faults as faults, heatmap as heatmap
    from surefoot.interface.questions import load as load, probability as probability, shield as shield
    from surefoot.interface.result import CheckResult as CheckResult
    from surefoot.interface.sweep import sweep as sweep
    from surefoot.interface.sweep_result import SweepResult as SweepResult, ask_sweep as ask_sweep
    from surefoot.interface.save_problem import save as save
    from surefoot.interface.table import TableEnvironment as TableEnvironment
    from surefoot.interface.table import from_table as from_table, from_transitions as from_transitions
    from surefoot.interface.symbolic_execution.trace_function import trace as trace
    from surefoot.network.evaluate import evaluate_network_batch as evaluate_network_batch
    from surefoot.network.interval import interval_bounds as interval_bounds
    from surefoot.problem.environment import (
        Choice as Choice, Component as Component, Control as Control, Edge as Edge, Law as Law,
        Outcome as Outcome, Synchronisation as Synchronisation, Update as Update, Variable as Variable,
    )
    from surefoot.problem.flow import Flow as Flow
    from surefoot.problem.meaning.decision import observation_vector as observation_vector
    from surefoot.problem.meaning.inference import infer_all_values as infer_all_values
    from surefoot.problem.network import (
        Activation as Activation, Affine as Affine, Combine as Combine, Constant as Constant,
        Elementwise as Elementwise, Join as Join, Network as Network, Node as Node, Pairing as Pairing,
        Pick as Pick, Shape as Shape, dense_network as dense_network, freeze_float32 as freeze_float32,
        freeze_indices as freeze_indices, shift_node_sources as shift_node_sources,
    )
    from surefoot.problem.tree_ensemble import TreeEnsemble as TreeEnsemble
    from surefoot.problem.policy import (
        RANDOM as RANDOM, Branch as Branch, Choose as Choose, EdgesOf as EdgesOf,
        NeuralPolicy as NeuralPolicy, OraclePolicy as OraclePolicy, ProgramPolicy as ProgramPolicy,
        ShieldedPolicy as ShieldedPolicy,
    )
    from surefoot.problem.problem import Problem as Problem
    from surefoot.problem.problem_digest import problem_digest as problem_digest
    from surefoot.problem.property import (
        Eventually as Eventually, Expected as Expected, Never as Never, NeverBefore as NeverBefore,
        Optimise as Optimise, Path as Path, Probability as Probability, Property as Property,
        Recurs as Recurs, Threshold as Threshold, Timed as Timed, Within as Within,
    )
    from surefoot.problem.property_parser import parse_property as parse_property
    from surefoot.problem.property_printer import show_property as show_property
    from surefoot.problem.semantics import (
        Move as Move, State as State, apply_move as apply_move, holds_in_state as holds_in_state,
        permitted_transitions as permitted_transitions,
    )
    from surefoot.problem.validate.distribution import normalise_probabilities as normalise_probabilities
    from surefoot.problem.window import interleave_windows as interleave_windows, window as window
    from surefoot.query.polynomial import Polynomial as Polynomial
    from surefoot.reductions.abstraction_request import parse_abstraction_request as parse_abstraction_request
    from surefoot.reductions.barrier import ControlSystem as ControlSystem
    from surefoot.reductions.barrier import read_control_system as read_control_system
    from surefoot.reductions.bound_template import parse_bound_template as parse_bound_template
    from surefoot.reductions.discretise import discretise as discretise
    from surefoot.report.abstraction.graph_file import (
        omit_large_graph as omit_large_graph, render_graph as render_graph, verdict_graph as verdict_graph,
        with_splits_tried as with_splits_tried,
    )
    from surefoot.report.disturbance_text import disturbances_to_json as disturbances_to_json
    from surefoot.report.disturbance_text import render_disturbances as render_disturbances
    from surefoot.report.drawing.png_file import render_pixels as render_pixels, render_png as render_png
    from surefoot.report.drawing.shapes import Drawing as Drawing
    from surefoot.report.drawing.svg_file import render_svg as render_svg
    from surefoot.report.fault_figure import draw_faults as draw_faults
    from surefoot.report.fault_page import render_fault_page as render_fault_page
    from surefoot.report.fault_text import fault_table_to_json as fault_table_to_json
    from surefoot.report.fault_text import render_fault_table as render_fault_table
    from surefoot.report.file_facts import (
        compare_runtime as compare_runtime, describe_model_file as describe_model_file,
        describe_policy_file as describe_policy_file, render_facts as render_facts,
    )
    from surefoot.report.finite_shield_text import (
        finite_synthesis_to_json as finite_synthesis_to_json,
        render_finite_synthesis as render_finite_synthesis,
    )
    from surefoot.report.foreign_barrier_text import describe_judgement as describe_judgement
    from surefoot.report.foreign_barrier_text import judgement_to_json as judgement_to_json
    from surefoot.report.heatmap.cells import (
        MapView as MapView, heat_map as heat_map, parse_view as parse_view,
    )
    from surefoot.report.heatmap.compose_figure import (
        HeatmapOptions as HeatmapOptions, compose_figure as compose_figure,
        drawn_start_values as drawn_start_values, read_limits as read_limits,
    )
    from surefoot.report.heatmap.critical_starts import (
        CriticalStart as CriticalStart, critical_csv as critical_csv, critical_data as critical_data,
        find_critical_starts as find_critical_starts, misses_threshold as misses_threshold,
        read_threshold as read_threshold,
    )
    from surefoot.report.heatmap.figure_data import figure_to_json as figure_to_json
    from surefoot.report.heatmap.heat_figure import (
        Figure as Figure, Panel as Panel, build_figure as build_figure, measure_of as measure_of,
        unit_of as unit_of,
    )
    from surefoot.report.heatmap.html import heat_page as heat_page
    from surefoot.report.heatmap.layout import draw_figure as draw_figure
    from surefoot.report.heatmap.learning_curve import Curve as Curve
    from surefoot.report.heatmap.problem_variants import read_map_plan as read_map_plan
    from surefoot.report.heatmap.start_summary import summarise_starts as summarise_starts
    from surefoot.report.heatmap.start_tables import (
        StartTables as StartTables, read_start_tables as read_start_tables,
        solve_start_tables as solve_start_tables,
    )
    from surefoot.report.heatmap.start_values import (
        StartValue as StartValue, Which as Which, effort_table as effort_table, value_table as value_table,
    )
    from surefoot.report.heatmap.terminal import terminal_lines as terminal_lines
    from surefoot.report.heatmap.terminal import terminal_text as terminal_text
    from surefoot.report.html_page import render_html_page as render_html_page
    from surefoot.report.inventory import (
        probe_solvers as probe_solvers, summarise_engines as summarise_engines,
        summarise_solvers as summarise_solvers,
    )
    from surefoot.report.junit_report import render_junit as render_junit
    from surefoot.report.line_panels import (
        DataLine as DataLine, LinePanel as LinePanel, line_panels_svg as line_panels_svg,
    )
    from surefoot.report.optimum_text import (
        optimum_to_json as optimum_to_json, render_optimum as render_optimum,
        solve_optimum as solve_optimum,
    )
    from surefoot.report.region.html import region_page as region_page
    from surefoot.report.region.region_figure import draw_scenes as draw_scenes
    from surefoot.report.region.scene import (
        Scene as Scene, certified_scene as certified_scene, scene_to_json as scene_to_json,
        synthesis_scene as synthesis_scene,
    )
    from surefoot.report.result_page import render_result_page as render_result_page
    from surefoot.report.result_picture import draw_result as draw_result
    from surefoot.report.result_text import render as render
    from surefoot.report.sarif_report import render_sarif as render_sarif
    from surefoot.report.search_page import preformatted_html as preformatted_html
    from surefoot.report.search_plots import bounds_svg as bounds_svg, tipping_point_svg as tipping_point_svg
    from surefoot.report.shield_text import (
        render_share as render_share, render_shield_page as render_shield_page,
        render_synthesis as render_synthesis, result_from_synthesis as result_from_synthesis,
        synthesis_to_json as synthesis_to_json,
    )
    from surefoot.report.switched_shield_text import (
        render_switched_synthesis as render_switched_synthesis,
        switched_synthesis_to_json as switched_synthesis_to_json,
    )
    from surefoot.run import (
        build_engines_of as build_engines_of,
        portfolio_objections as portfolio_objections, require_applicable as require_applicable,
        verify as verify, verify_without_objection as verify_without_objection,
    )
    from surefoot.search import (
        SearchSettings as SearchSettings, find_invariant as find_invariant,
        find_tipping_point as find_tipping_point, parse_moving_bounds as parse_moving_bounds,
        verify_abstracted as verify_abstracted, verify_assuming as verify_assuming,
    )
    from surefoot.search.fault_search import FaultSearch as FaultSearch, search_faults as search_faults
    from surefoot.search.find_witnesses import with_witnesses as with_witnesses
    from surefoot.search.question_predicates import with_predicates as with_predicates
    from surefoot.search.sweep.sweep_file import plan_sweep as plan_sweep
    from surefoot.search.finite_shield import (
        FiniteSynthesis as FiniteSynthesis, is_moved_by_actions as is_moved_by_actions,
        make_finite_shield as make_finite_shield, reachability_goals as reachability_goals,
    )
    from surefoot.search.safe_starts import STARTS_INTERRUPTED as STARTS_INTERRUPTED
    from surefoot.search.safe_starts import find_safe_starts as find_safe_starts
    from surefoot.search.stored_result import (
        judge_certificate_content as judge_certificate_content, judge_stored_result as judge_stored_result,
        reload_source as reload_source,
    )
    from surefoot.search.switched_shield import (
        SwitchedSynthesis as SwitchedSynthesis, is_meant_as_switched as is_meant_as_switched,
        is_moved_by_real_steps as is_moved_by_real_steps,
        make_switched_synthesis as make_switched_synthesis,
    )
    from surefoot.search.vnnlib_question import competition_verdict as competition_verdict
    from surefoot.search.vnnlib_question import verify_vnnlib as verify_vnnlib
    from surefoot.shields.batch_guard import BatchGuard as BatchGuard
    from surefoot.shields.certified_shield import (
        SetKind as SetKind, ShieldSynthesis as ShieldSynthesis, Sketches as Sketches,
        make_certified_shield as make_certified_shield, shapes_for as shapes_for,
    )
    from surefoot.shields.estimate import needed_steps as needed_steps
    from surefoot.shields.evaluation.baselines import baseline_regulator as baseline_regulator
    from surefoot.shields.evaluation.comparison import (
        EvaluationSize as EvaluationSize, ShieldEvaluation as ShieldEvaluation,
        evaluate_guarded_network as evaluate_guarded_network, evaluate_shield as evaluate_shield,
        evaluation_to_json as evaluation_to_json, render_evaluation as render_evaluation,
    )
    from surefoot.shields.evaluation.plant import (
        BatchPlant as BatchPlant, by_network as by_network, covered_boxes as covered_boxes,
        draw_start_states as draw_start_states,
    )
    from surefoot.shields.evaluation.simulation import Campaign as Campaign
    from surefoot.shields.export.guard import (
        StepFunction as StepFunction, c_symbol as c_symbol, find_export_obstacle as find_export_obstacle,
    )
    from surefoot.shields.foreign_judgement import judge_foreign_barriers as judge_foreign_barriers
    from surefoot.shields.logged_runs import estimate_disturbances as estimate_disturbances
    from surefoot.shields.recheck import read_old_rules as read_old_rules
    from surefoot.simulate.open_model import OpenModel as OpenModel
    from surefoot.solvers.sos.gram_blocks import Squares as Squares
    from surefoot.term.evaluate import evaluate_term as evaluate_term
    from surefoot.term.parser import parse_term as parse_term
    from surefoot.term.printer import show_term as show_term
    from surefoot.term.reserved_names import (
        STALLED as STALLED, location_name as location_name, network_output_name as network_output_name,
        output_index as output_index,
    )
    from surefoot.term.term import (
        FALSE as FALSE, TRUE as TRUE, Apply as Apply, Const as Const, Op as Op, Operand as Operand,
        Term as Term, Var as Var, array_term as array_term, conjunction_of as conjunction_of,
        disjunction_of as disjunction_of, equal as equal, free_names as free_names, ite as ite,
        term_from_python as term_from_python,
    )
    from surefoot.term.value_types import (
        Arithmetic as Arithmetic, Array as Array, Bool as Bool, Int as Int, Real as Real,
    )
    from surefoot.verdict.artifact import (
        AbstractGraph as AbstractGraph, QueryStatistics as QueryStatistics, SafeStarts as SafeStarts,
        TippingPoint as TippingPoint,
    )
    from surefoot.verdict.exit_code import (
        CheckOutcome as CheckOutcome, classify_outcome as classify_outcome, exit_code as exit_code,
        worst_exit_code as worst_exit_code,
    )
    from surefoot.verdict.sentences import count_noun as count_noun, interruption_note as interruption_note
    from surefoot.verdict.threshold import compare_with_threshold as compare_with_threshold
    from surefoot.verdict.threshold import threshold_of as threshold_of
    from surefoot.verdict.verdict import (
        Certificate as Certificate, Estimated as Estimated, Exact as Exact, Found as Found, Holds as Holds,
        PerStart as PerStart, Proved as Proved, Reason as Reason, Result as Result, Trace as Trace,
        Unknown as Unknown, Vacuous as Vacuous, Verdict as Verdict, Violated as Violated,
        is_interrupted as is_interrupted,
    )
    from surefoot.visible import (
        escape_html as escape_html, join_visible as join_visible, make_lines_visible as make_lines_visible,
        make_visible as make_visible,
    )
    from surefoot.work.budget import Budget as Budget
    from surefoot.work.child import processor_time as processor_time
    from surefoot.work.deadline import (
        Alarm as Alarm, Late as Late, call_in_time as call_in_time, end_alarm as end_alarm,
        ending_alarms as ending_alarms, set_alarm as set_alarm,
    )
    from surefoot.work.interrupt import exit_process as exit_process, handle_interrupts as handle_interrupts
    from surefoot.work.philox import Stream as Stream
    from surefoot.work.processor_time import ProcessorTime as ProcessorTime
    from surefoot.work.processor_time import processor_seconds as processor_seconds
    from surefoot.work.worker_pool import (
        ProcessPool as ProcessPool, SerialPool as SerialPool, WorkerPool as WorkerPool,
    )
# fmt: on

_USER_SECTIONS: tuple[dict[str, str], ...] = (  # module below `surefoot` -> its names
    {  # Questions and answers
        ".interface.certificate": "check_certificate",
        ".interface.questions": "check faults heatmap load probability shield",
        ".interface.save_problem": "save",
        ".interface.faults": "PolicyFaults",
        ".interface.result": "CheckResult",
        ".interface.sweep": "sweep",
        ".interface.sweep_result": "SweepResult",
        ".run": "verify",
        ".report.result_text": "render",
        ".work.budget": "Budget",
    },
    {  # Expressions over the state
        ".interface.expression": "Expression array boolean choose_value integer maximum minimum real",
        ".term.term": "FALSE TRUE Var equal ite",
        ".term.parser": "parse_term",
        ".term.value_types": "Array Bool Int Real",
    },
    {  # Environments, policies and their networks
        ".interface.environment": "Environment",
        ".interface.as_gym": "as_gym",
        ".interface.gym_environment": "GymEnvironment gym",
        ".interface.table": "TableEnvironment from_table from_transitions",
        ".interface.symbolic_execution.trace_function": "trace",
        ".problem.environment": "Choice Component Control Edge Outcome Update Variable",
        ".problem.flow": "Flow",
        ".problem.validate.distribution": "normalise_probabilities",
        ".problem.window": "window",
        ".interface.policy": "Policy",
        ".problem.policy": "Branch NeuralPolicy ProgramPolicy ShieldedPolicy",
        ".problem.network": "Network",
        ".formats.policy_file": "load_policy",
    },
    {  # Properties and problems
        ".interface.properties": "eventually expected_reward never never_before probability_of recurs within",
        ".problem.property": "Eventually Never NeverBefore Recurs Timed Within",
        ".problem.property_parser": "parse_property",
        ".problem.problem": "Problem",
    },
    {  # Engines
        ".engines.barrier": "Barrier",
        ".engines.bmc": "Bmc",
        ".engines.explicit": "Explicit",
        ".engines.falsify": "Falsify",
        ".engines.induction": "Induction",
        ".engines.predicates": "Predicates",
        ".engines.reach": "Reach",
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
        ".problem.policy": "RANDOM Choose EdgesOf OraclePolicy",
        ".interface.environment": "EnvironmentData",
        ".interface.policy": "AnyPolicy",
        ".problem.property": "Expected Optimise Path Probability Property Threshold",
        ".interface.pose_problem": "pose_problem",
        ".problem.problem_digest": "problem_digest",
        ".problem.property_printer": "show_property",
        ".problem.window": "interleave_windows",
    },
    {  # Nodes of a network, and what it computes
        ".problem.network": (
            "Activation Affine Combine Constant Elementwise Join Node Pairing Pick Shape dense_network "
            "freeze_float32 freeze_indices shift_node_sources"
        ),
        ".problem.tree_ensemble": "TreeEnsemble",
        ".network.evaluate": "evaluate_network_batch",
        ".network.interval": "interval_bounds",
        ".problem.meaning.decision": "observation_vector",
        ".problem.meaning.inference": "infer_all_values",
    },
    {  # Steps of the meaning
        ".problem.semantics": "Move State apply_move holds_in_state permitted_transitions",
    },
    {  # Model files, policy files, and what is in them
        ".formats.gymnasium.gym_name": "names_gym_model split_gym_name",
        ".formats.gymnasium.live_environment": "set_gym_arguments",
        ".simulate.open_model": "OpenModel",
        ".work.philox": "Stream",
        ".formats.model_file": (
            "PRISM_SUFFIXES LoadedModel file_sha256 parse_constants read_model set_time_semantics"
        ),
        ".formats.jani": "read_jani write_jani",
        ".formats.prism": "read_prism write_prism",
        ".formats.problem_file": "find_property_lines write_problems",
        ".formats.schemas": "SCHEMAS read_schema",
        ".formats.onnx": "read_onnx_network",
        ".formats.normalization": "read_normalization",
        ".formats.predicate_list": "read_conditions",
        ".formats.untrusted.regular_file": "NO_SUCH_FILE require_file",
        ".report.file_facts": "compare_runtime describe_model_file describe_policy_file render_facts",
    },
    {  # Answers, with their evidence, in words and in files
        ".verdict.verdict": "Certificate Result Trace Verdict is_interrupted",
        ".verdict.artifact": "AbstractGraph QueryStatistics SafeStarts TippingPoint",
        ".verdict.exit_code": "CheckOutcome classify_outcome exit_code worst_exit_code",
        ".verdict.sentences": "count_noun interruption_note",
        ".verdict.threshold": "compare_with_threshold threshold_of",
        ".formats.result_json": (
            "annotate_trace "
            "StoredResult annotated_result_to_json certificate_relative_to find_base_folder "
            "result_relative_to"
        ),
        ".formats.output_file": "compact_json write_file",
        ".formats.json_file": "read_invariant read_json read_stored_results",
        ".report.junit_report": "render_junit",
        ".report.result_page": "render_result_page",
        ".report.sarif_report": "render_sarif",
        ".report.result_picture": "draw_result",
    },
    {  # Stored results and certificates, checked again
        ".search.stored_result": "judge_certificate_content judge_stored_result reload_source",
        ".formats.barrier_file": "is_foreign_barrier read_barriers",
        ".shields.foreign_judgement": "judge_foreign_barriers",
        ".report.foreign_barrier_text": "describe_judgement judgement_to_json",
    },
    {  # Engines by name, and what there is
        ".engines.protocol": "Engine",
        ".engines.predicates.configurations": "CONFIGURATIONS",
        ".engines.selection": "NoEngine",
        ".run": "build_engines_of portfolio_objections require_applicable verify_without_objection",
        ".report.inventory": "probe_solvers summarise_engines summarise_solvers",
    },
    {  # Searches around an engine
        ".search": (
            "SearchSettings find_invariant find_tipping_point parse_moving_bounds verify_abstracted "
            "verify_assuming"
        ),
        ".search.find_witnesses": "with_witnesses",
        ".search.question_predicates": "with_predicates",
        ".search.sweep.sweep_file": "plan_sweep",
        ".interface.sweep_result": "ask_sweep",
        ".search.safe_starts": "STARTS_INTERRUPTED find_safe_starts",
        ".search.vnnlib_question": "competition_verdict verify_vnnlib",
        ".reductions.abstraction_request": "parse_abstraction_request",
        ".reductions.bound_template": "parse_bound_template",
        ".reductions.discretise": "discretise",
        ".report.abstraction.graph_file": "omit_large_graph render_graph verdict_graph with_splits_tried",
        ".report.optimum_text": "optimum_to_json render_optimum solve_optimum",
        ".report.line_panels": "DataLine LinePanel line_panels_svg",
        ".report.search_plots": "bounds_svg tipping_point_svg",
    },
    {  # Faults of a policy
        ".search.fault_search": "FaultSearch search_faults",
        ".fault_analysis.training_data": "export_faults",
        ".report.fault_text": "fault_table_to_json render_fault_table",
        ".report.fault_page": "render_fault_page",
        ".report.fault_figure": "draw_faults",
    },
    {  # Estimates from episodes and logged runs
        ".engines.statistical.black_box": "estimate_episode_reward estimate_episode_success",
        ".shields.logged_runs": "estimate_disturbances",
        ".shields.estimate": "needed_steps",
        ".report.disturbance_text": "disturbances_to_json render_disturbances",
    },
    {  # Shields of systems with real controls
        ".shields.certified_shield": "SetKind ShieldSynthesis Sketches make_certified_shield shapes_for",
        ".solvers.sos.gram_blocks": "Squares",
        ".shields.recheck": "read_old_rules",
        ".shields.batch_guard": "BatchGuard",
        ".shields.export.guard": "StepFunction c_symbol find_export_obstacle",
        ".shields.evaluation.baselines": "baseline_regulator",
        ".shields.evaluation.comparison": (
            "EvaluationSize ShieldEvaluation evaluate_guarded_network evaluate_shield "
            "evaluation_to_json render_evaluation"
        ),
        ".shields.evaluation.plant": "BatchPlant by_network covered_boxes draw_start_states",
        ".shields.evaluation.simulation": "Campaign",
        ".reductions.barrier": "ControlSystem read_control_system",
        ".query.polynomial": "Polynomial",
        ".engines.barrier.float_system": "Floats evaluate_polynomial",
        ".engines.barrier.sos_candidate": "template_objection",
        ".report.shield_text": (
            "render_share render_shield_page render_synthesis result_from_synthesis synthesis_to_json"
        ),
    },
    {  # Shields of actions
        ".search.finite_shield": "FiniteSynthesis is_moved_by_actions make_finite_shield reachability_goals",
        ".report.finite_shield_text": "finite_synthesis_to_json render_finite_synthesis",
        ".report.switched_shield_text": "render_switched_synthesis switched_synthesis_to_json",
        ".search.switched_shield": (
            "SwitchedSynthesis is_meant_as_switched is_moved_by_real_steps make_switched_synthesis"
        ),
    },
    {  # Heat maps
        ".report.heatmap.cells": "MapView heat_map parse_view",
        ".report.heatmap.compose_figure": "HeatmapOptions compose_figure drawn_start_values read_limits",
        ".report.heatmap.critical_starts": (
            "CriticalStart critical_csv critical_data find_critical_starts misses_threshold read_threshold"
        ),
        ".report.heatmap.figure_data": "figure_to_json",
        ".report.heatmap.heat_figure": "Figure Panel build_figure measure_of unit_of",
        ".report.heatmap.html": "heat_page",
        ".report.heatmap.layout": "draw_figure",
        ".report.heatmap.learning_curve": "Curve",
        ".report.heatmap.problem_variants": "read_map_plan",
        ".report.heatmap.start_summary": "summarise_starts",
        ".report.heatmap.start_tables": "StartTables read_start_tables solve_start_tables",
        ".report.heatmap.start_values": "StartValue Which effort_table value_table",
        ".report.heatmap.terminal": "terminal_lines terminal_text",
    },
    {  # Pictures and pages
        ".report.drawing.png_file": "render_pixels render_png",
        ".report.drawing.shapes": "Drawing",
        ".report.drawing.svg_file": "render_svg",
        ".report.region.html": "region_page",
        ".report.region.region_figure": "draw_scenes",
        ".report.region.scene": "Scene certified_scene scene_to_json synthesis_scene",
        ".report.html_page": "render_html_page",
        ".report.search_page": "preformatted_html",
    },
    {  # Errors in words, time, other processes
        ".errors": "did_you_mean missing_backend",
        ".visible": "escape_html join_visible make_lines_visible make_visible",
        ".work.deadline": "Alarm Late call_in_time end_alarm ending_alarms set_alarm",
        ".work.child": "processor_time",
        ".work.interrupt": "exit_process handle_interrupts",
        ".work.processor_time": "ProcessorTime processor_seconds",
        ".work.worker_pool": "ProcessPool SerialPool WorkerPool",
    },
)


def _find_homes(sections: tuple[dict[str, str], ...]) -> dict[str, str]:
    pairs = [(home, names.split()) for section in sections for home, names in section.items()]
    return {name: f"surefoot{home}" for home, names in pairs for name in names}


USER_NAMES = tuple(sorted(_find_homes(_USER_SECTIONS)))
HOMES = _find_homes(_USER_SECTIONS + _TOOL_SECTIONS)  # name -> the module that defines it

if not TYPE_CHECKING:  # who sees this believes that every name is there
    __all__ = sorted(HOMES)

    def __getattr__(name: str) -> object:
        if name not in HOMES:
            raise AttributeError(f"module `surefoot.api` has no attribute `{name}`")
        found: object = getattr(import_module(HOMES[name]), name)
        globals()[name] = found  # the next time it is an attribute as any other
        return found


def __dir__() -> list[str]:
    return sorted(HOMES)
