"""Times of public verifiers on one thread of a machine of the same kind, 60 s a query, as measured once.

alpha-beta-CROWN 8250d5f with its competition settings (batch 1024), nnenum b18238f, Marabou 2.0.0 (default
options), NeuralSAT 916eb56. Seconds in process, after imports, network loading included. T: time-out,
E: cannot read the network, W: wrong answer, -: not tried. `open`: no agreed answer. Hard rows were chosen on
purpose: this is no rate over the whole sets.
"""

from __future__ import annotations

from dataclasses import dataclass

NAMES = ("alpha-beta-CROWN", "nnenum", "Marabou", "NeuralSAT")


@dataclass(frozen=True, slots=True)
class Published:
    family: str
    name: str  # network and property
    answer: str  # sat, unsat or open
    cells: tuple[str, ...]  # in the order of NAMES


def published() -> list[Published]:
    found = []
    for line in TABLE.strip().splitlines():
        title, _, rest = line.partition(";")
        family, name = title.split(maxsplit=1)
        answer, *cells = rest.split()
        found.append(Published(family, name.strip(), answer, tuple(cells)))
    return found


def seconds(cell: str) -> float | None:
    """None where there is no right answer within the time."""
    return None if cell in ("T", "E", "-") or cell.endswith("W") else float(cell)


TABLE = """
acasxu           1_1 prop_5;                                        open     12.49    6.91       -       -
acasxu           1_1 prop_6;                                        unsat    38.62   28.95       -       -
acasxu           1_3 prop_2;                                        sat       1.62    1.68    2.35   10.47
acasxu           1_7 prop_2;                                        unsat     6.42    4.07       -       -
acasxu           2_9 prop_1;                                        unsat     7.69       T       T       -
acasxu           3_3 prop_2;                                        open         T       T       T       -
acasxu           3_6 prop_1;                                        unsat     6.04   17.73       -       -
acasxu           4_2 prop_2;                                        open         T       T       -       -
acasxu           4_5 prop_10;                                       unsat    12.78    2.31       -       -
acasxu           4_9 prop_1;                                        unsat    10.73   35.61       -       -
acasxu           5_4 prop_4;                                        unsat     4.46    0.08       -       -
acasxu           5_7 prop_3;                                        unsat     0.12    0.06    0.10    2.80
cersyve          lane_keep_finetune_con prop_lane_keep;             unsat     1.64    1.06       -       -
cersyve          lane_keep_finetune_inv prop_lane_keep;             unsat     2.63   17.34       T       T
cersyve          lane_keep_pretrain_con prop_lane_keep;             sat       0.05    0.18       -       -
cersyve          pendulum_finetune_inv prop_pendulum;               unsat     2.64    1.23  46.48W    3.76
cersyve          point_mass_pretrain_con prop_point_mass;           sat       0.05    0.17    0.32       -
cersyve          point_mass_pretrain_inv prop_point_mass;           sat       0.07    0.14       -       -
lsnc_relu        relu_quadrotor2d_state quadrotor2d_state_28;       sat       0.23       -       -       -
lsnc_relu        relu_quadrotor2d_state quadrotor2d_state_43;       sat       2.40       E       -       -
lsnc_relu        relu_quadrotor2d_state quadrotor2d_state_65;       open         T       E       E       -
lsnc_relu        relu_quadrotor2d_state quadrotor2d_state_67;       sat       0.83       -       -       -
lsnc_relu        relu_quadrotor2d_state quadrotor2d_state_74;       sat       0.43       -       -       -
nn4sys_pensieve  pensieve_small_parallel pensieve_parallel_17;      unsat     0.78       -       -       -
nn4sys_pensieve  pensieve_small_parallel pensieve_parallel_33;      unsat     0.73       -       -       -
nn4sys_pensieve  pensieve_small_parallel pensieve_parallel_4;       unsat     0.71       E       -       -
nn4sys_pensieve  pensieve_small_simple pensieve_simple_0;           unsat     0.28       E       E       -
nn4sys_pensieve  pensieve_small_simple pensieve_simple_16;          unsat     0.26       -       -       -
planted_needles  planted_010_sat_n6_r10;                            sat       2.60    0.08    0.03    3.51
planted_needles  planted_012_sat_n2_r6;                             sat       2.49    0.07   0.02W       -
planted_needles  planted_034_sat_n6_r10;                            sat       2.30    0.09    0.02       -
planted_needles  planted_035_unsat_n8_r8;                           unsat     2.57    0.03    0.02       -
planted_needles  planted_041_unsat_n8_r6;                           unsat     2.56    0.05    0.02       -
planted_needles  planted_050_sat_n3_r10;                            sat       2.09    0.06    0.03       -
sat_relu         sat_v10_c26;                                       sat       1.26    0.06       -       -
sat_relu         sat_v33_c140;                                      sat       1.22       -       -       -
sat_relu         sat_v85_c207;                                      sat       0.04       -       -       -
sat_relu         sat_v99_c485;                                      sat       1.32       T    0.48       -
sat_relu         unsat_v24_c66;                                     unsat     1.96       T       T       T
sat_relu         unsat_v33_c140;                                    unsat     2.85       -       -       -
sat_relu         unsat_v40_c142;                                    unsat     3.52       -       -       -
sat_relu         unsat_v54_c125;                                    unsat     2.32       -       -       -
sat_relu         unsat_v95_c275;                                    unsat        T       T   8.58W       -
"""
