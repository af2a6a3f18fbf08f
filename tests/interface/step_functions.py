"""Step functions as people write them: plants, grids, stocks, lights, games, vectorised code, classes."""

import math
import random
from collections import namedtuple
from dataclasses import dataclass, replace
from enum import IntEnum
from math import cos, sin

import numpy as np
from numpy import clip

G, M_CART, M_POLE, LENGTH, DT = 9.8, 1.0, 0.1, 0.5, 0.02
A = np.array([[1.0, 0.1], [0.0, 1.0]])
B = np.array([0.0, 0.1])
MAP = ["SFFF", "FHFH", "FFFH", "HFFG"]
HEIGHTS = np.array([[0, 1, 2], [1, 1, 3], [2, 0, 1]])
MOVES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
PRICES = [3, 5, 2, 7, 4]


def double_integrator(x, v, u):
    return x + 0.1 * v + 0.005 * u, v + 0.1 * u


def cartpole(x, x_dot, theta, theta_dot, force):
    costheta, sintheta = math.cos(theta), math.sin(theta)
    temp = (force + M_POLE * LENGTH * theta_dot**2 * sintheta) / (M_CART + M_POLE)
    thetaacc = (G * sintheta - costheta * temp) / (
        LENGTH * (4.0 / 3.0 - M_POLE * costheta**2 / (M_CART + M_POLE))
    )
    xacc = temp - M_POLE * LENGTH * thetaacc * costheta / (M_CART + M_POLE)
    x = x + DT * x_dot
    x_dot = x_dot + DT * xacc
    theta = theta + DT * theta_dot
    theta_dot = theta_dot + DT * thetaacc
    terminated = bool(x < -2.4 or x > 2.4 or theta < -0.2095 or theta > 0.2095)
    return (x, x_dot, theta, theta_dot), 1.0, terminated, False, {}


def mountain_car(position, velocity, action):
    velocity += (action - 1) * 0.001 + math.cos(3 * position) * (-0.0025)
    velocity = np.clip(velocity, -0.07, 0.07)
    position += velocity
    position = np.clip(position, -1.2, 0.6)
    if position == -1.2 and velocity < 0:
        velocity = 0
    done = bool(position >= 0.5 and velocity >= 0)
    return position, velocity, -1.0, done


def angle_normalize(x):
    return ((x + np.pi) % (2 * np.pi)) - np.pi


def pendulum(state, u):
    th, thdot = state
    u = np.clip(u, -2, 2)
    cost = angle_normalize(th) ** 2 + 0.1 * thdot**2 + 0.001 * (u**2)
    newthdot = thdot + (3 * 10.0 / (2 * 1.0) * np.sin(th) + 3.0 / (1.0 * 1.0**2) * u) * 0.05
    newthdot = np.clip(newthdot, -8, 8)
    newth = angle_normalize(th + newthdot * 0.05)
    return np.array([newth, newthdot]), -cost


def thermostat(temp, heating, action):
    if temp < 18:
        heating = True
    elif temp > 22:
        heating = False
    rate = 0.5 if heating else -0.3
    return {"temp": min(max(temp + rate + 0.1 * action, 5.0), 35.0), "heating": heating}


def thermostat_chain(temp):
    if 18 <= temp < 20:
        return temp + 0.25
    return temp - 0.5 if temp >= 20 else temp + 1.0


def frozen_lake(state, action):
    row, col = state["row"], state["col"]
    dr, dc = MOVES[action]
    row = min(max(row + dr, 0), 3)
    col = min(max(col + dc, 0), 3)
    cell = MAP[row][col]
    return {"row": row, "col": col, "terminated": cell in "HG", "reward": float(cell == "G")}


def hill_walk(r, c, action):
    nr, nc = r, c
    if action == 0 and r > 0:
        nr = r - 1
    elif action == 1 and r < 2:
        nr = r + 1
    elif action == 2 and c > 0:
        nc -= 1
    elif action == 3 and c < 2:
        nc += 1
    if abs(HEIGHTS[nr, nc] - HEIGHTS[r, c]) > 1:
        nr, nc = r, c
    return nr, nc


def taxi(x, y, carrying, action):
    if action == "pick":
        carrying = carrying or (x == 0 and y == 4)
    elif action == "drop":
        if carrying and (x, y) == (4, 0):
            carrying = False
    else:
        dx, dy = {"n": (0, -1), "s": (0, 1), "e": (1, 0), "w": (-1, 0)}[action]
        if 0 <= x + dx <= 4 and 0 <= y + dy <= 4:
            x, y = x + dx, y + dy
    return x, y, carrying


def inventory(stock, order, demand):
    stock = min(stock + order, 20)
    sold = min(stock, demand)
    return stock - sold, 5.0 * sold - 2.0 * order


def newsvendor(stock, day, action):
    price = PRICES[day]
    stock = stock + action if stock + action <= 10 else 10
    return stock, (day + 1) % len(PRICES), -price * action


def queue(length, arrivals):
    length += arrivals
    served = 0
    while length > 0 and served < 3:
        length -= 1
        served += 1
    return min(length, 12)


def traffic_light(phase, timer, waiting, action):
    timer += 1
    if (action == "switch" and timer >= 3) or timer > 7:
        phase, timer = (phase + 1) % 4, 0
    waiting = max(0, waiting - 2) if phase in (0, 2) else min(15, waiting + 1)
    return phase, timer, waiting


def bicycle(x, y, psi, v, accel, steer):
    beta = np.arctan(0.5 * np.tan(steer))
    x = x + v * np.cos(psi + beta) * 0.1
    y = y + v * np.sin(psi + beta) * 0.1
    psi = psi + v / 2.7 * np.sin(beta) * 0.1
    v = float(np.clip(v + accel * 0.1, 0.0, 30.0))
    return x, y, psi, v


def cruise_control(gap, v_ego, v_lead, u, w):
    v_lead = max(0.0, min(v_lead + w, 35.0))
    v_ego = max(0.0, v_ego + 0.1 * u)
    return gap + 0.1 * (v_lead - v_ego), v_ego, v_lead


def unicycle(pose, action):
    v, w = action
    x, y, th = pose
    return np.array([x + 0.1 * v * np.cos(th), y + 0.1 * v * np.sin(th), th + 0.1 * w])


def linear_plant(s, u):
    return A @ s + B * u


def linear_plant_out(s, u):
    out = np.zeros(2)
    out[0] = s[0] + 0.1 * s[1]
    out[1] = s[1] + 0.1 * np.clip(u, -1.0, 1.0)
    return np.clip(out, [-5.0, -2.0], [5.0, 2.0])


def vector_field(s):
    ds = np.array([s[1], (1 - s[0] ** 2) * s[1] - s[0]])
    return s + 0.01 * ds


def runge_kutta(x, y):
    def f(x, y):
        return y, (1 - x**2) * y - x

    k1 = f(x, y)
    k2 = f(x + 0.05 * k1[0], y + 0.05 * k1[1])
    return x + 0.1 * k2[0], y + 0.1 * k2[1]


def tanks(levels, valve):
    flow = 0.2 * np.sqrt(np.maximum(levels, 0.0))
    new = levels.copy()
    new[0] += 0.1 * valve - flow[0]
    new[1:] += flow[:-1] - flow[1:]
    return np.maximum(new, 0)


def cellular(cells):
    left, right = np.roll(cells, 1), np.roll(cells, -1)
    return np.where(cells, left & right, left ^ right)


def majority(votes):
    total = sum(1 for v in votes if v)
    return np.array([v if total != 2 else not v for v in votes])


def sorted_pair(a, b):
    if a > b:
        a, b = b, a
    return a, b


def sort_three(v):
    v = list(v)
    for i in range(3):
        for j in range(2 - i):
            if v[j] > v[j + 1]:
                v[j], v[j + 1] = v[j + 1], v[j]
    return v


def collatz(n):
    return n // 2 if n % 2 == 0 else (3 * n + 1) % 100


def gcd_step(a, b):
    if b != 0:
        a, b = b, a % b
    return a, b


def digits(n):
    total = 0
    while n > 0:
        total += n % 10
        n //= 10
    return total


def clock(t):
    return (t + 0.7) % 24.0


def compass(heading, turn):
    heading = (heading + turn) % 360
    return heading


def quantised(x):
    level = int(x / 0.25)
    return level * 0.25 + (0.1 if level % 2 == 0 else -0.1)


def rounded(x, n):
    return round(x), n + round(x) - round(x)


def decimals(x):
    return np.round(x * 1.7, 2)


def floor_and_ceil(x):
    return math.floor(x) + 0.25 * math.ceil(x) - np.floor(x / 3)


def floor_division(x, y):
    return x // 0.3, (y - 1) // 2


def piecewise(x):
    return np.interp(x, [-1.0, 0.0, 2.0], [0.5, -0.5, 1.5])


def binned(x, level):
    level = int(np.digitize(x, [-1.0, 0.0, 1.0]))
    return x * 0.9, level


def lookup(i, x):
    return (i + 1) % 4, x + [0.1, -0.2, 0.3, -0.1][i]


def memory(buffer, i, x):
    buffer[i] = x
    return buffer, (i + 1) % len(buffer), buffer.mean()


def history(h, u):
    h = np.append(h[1:], u)
    return h


def dead_zone(x, u):
    u = 0.0 if abs(u) < 0.2 else u
    return math.copysign(min(abs(x + u), 3.0), x + u)


def relay(x, on):
    on = not on if (on and x > 1) or (not on and x < -1) else on
    return x + (-0.1 if on else 0.1), on


def reflex(x, v):
    x, v = x + 0.1 * v, v - 0.981
    if x < 0:
        x, v = -x, -0.8 * v
    return x, v


def sigmoid(x, u):
    return 1 / (1 + np.exp(-(x + u)))


def network(s):
    hidden = np.tanh(np.array([[0.5, -0.3], [0.2, 0.8]]) @ s + np.array([0.1, -0.1]))
    return s + 0.1 * np.array([hidden.sum(), hidden[0] - hidden[1]])


def relu_network(s):
    hidden = np.maximum(0, s * np.array([1.5, -0.5]) + 0.25)
    return s - 0.1 * hidden


def distance(x, y):
    d = math.hypot(x, y)
    if d > 1:
        x, y = x / d, y / d
    return x, y


def bearing(x, y):
    angle = math.atan2(y + 3.0, x)
    return x + 0.1 * math.cos(angle), y + 0.1 * math.sin(angle)


def norm_limited(v):
    n = np.linalg.norm(v)
    return v / n if n > 1.0 else v


def bang_bang(x, v):
    u = -np.sign(x + v * abs(v) / 2)
    return x + 0.1 * v, v + 0.1 * u


def newton(x):
    for _ in range(3):
        x = 0.5 * (x + 2.0 / x)
    return x


def horner(x):
    total = 0.0
    for c in (0.25, -0.5, 0.0, 1.0):
        total = total * x + c
    return total


def cubes(x):
    return x**3 - 0.5 * x**2 + 2.0**x


def swing(q, t):
    return q + 0.05 * sin(t), t + 0.1 - 0.01 * cos(q)


def clipped(x, u):
    return clip(x + u, -1, 1)


def nested(x, mode):
    if mode == 0:
        return (x + 0.5, 1) if x < 0 else (x - 0.5, 2)
    if mode == 1:
        return x * 0.5, 2 if x > 0.25 else 1
    return -x, 0


def predator(prey, hunters):
    prey += prey * (1.1 - 0.4 * hunters) * 0.1
    hunters += hunters * (0.1 * prey - 0.4) * 0.1
    return max(prey, 0.0), max(hunters, 0.0)


def epidemic(s, i, r):
    new, healed = 0.3 * s * i, 0.1 * i
    return s - new, i + new - healed, r + healed


def battery(charge, load, cloudy):
    sun = 0.2 if cloudy else 1.0
    charge = charge + sun - load
    if charge >= 10:
        charge = 10.0
    elif charge <= 0:
        charge = 0.0
    return charge


def elevator(floor, direction, target):
    if floor < target:
        direction = 1
    elif floor > target:
        direction = -1
    else:
        direction = 0
    return floor + direction, direction


def nim(left, turn, action):
    take = min(action, left)
    return left - take, 1 - turn


def blackjack(total, ace, card):
    total += min(card, 10)
    ace = ace or card == 1
    value = total + 10 if ace and total + 10 <= 21 else total
    bust = value > 21
    return min(total, 31), ace, bust


def tic(board, place):
    if board[place] == 0:
        board[place] = 1
    return board


def safe_divide(x, y):
    return np.where(y == 0, 0.0, x / np.where(y == 0, 1.0, y))


class Mode(IntEnum):
    IDLE = 0
    RUN = 1
    STOP = 2


def machine(mode, speed, action):
    if mode == Mode.IDLE and action == "start":
        mode = Mode.RUN
    elif mode == Mode.RUN and (action == "stop" or speed >= 10):
        mode = Mode.STOP
    elif mode == Mode.STOP and speed <= 0:
        mode = Mode.IDLE
    speed = {Mode.IDLE: 0, Mode.RUN: min(speed + 2, 12), Mode.STOP: max(speed - 3, 0)}[mode]
    return int(mode), speed


@dataclass
class Ship:
    x: float
    y: float
    heading: float

    def drift(self, w: float) -> "Ship":
        return replace(self, x=self.x + w, heading=(self.heading + 0.1) % (2 * math.pi))


def sail(ship: Ship, w: float) -> Ship:
    moved = ship.drift(w)
    return Ship(moved.x, moved.y + 0.1 * math.sin(moved.heading), moved.heading)


Point = namedtuple("Point", "x y")


def walk(p: Point, action):
    if action == "east":
        return p._replace(x=p.x + 1 if p.x < 5 else p.x)
    return Point(p.x, (p.y + 1) % 6)


class Rocket:
    """State in attributes, as in Gymnasium's environments."""

    def __init__(self):
        self.gravity = -1.62
        self.height, self.speed, self.fuel = 10.0, 0.0, 5
        self.last_thrust = None

    def thrust(self, action):
        return 3.0 if action == 1 and self.fuel > 0 else 0.0

    def step(self, action):
        thrust = self.thrust(action)
        self.last_thrust = thrust
        if thrust:
            self.fuel -= 1
        self.speed = self.speed + 0.1 * (self.gravity + thrust)
        self.height = max(self.height + 0.1 * self.speed, 0.0)
        landed = self.height <= 0
        observation = np.array([self.height, self.speed], dtype=np.float32)
        return observation, -float(abs(self.speed)), landed, False, {}


class Tracker:
    def __init__(self):
        self.state = [0.0, 0.0]

    def step(self, u):
        x, v = self.state
        self.state = [x + 0.1 * v, v + 0.1 * np.clip(u, -1, 1)]


def by_object(s, u):
    s.x += 0.1 * s.v
    s.v = max(-1.0, min(1.0, s.v + u))


def in_place(s, u):
    s["a"], s["b"] = s["b"], s["a"] + u
    return s


def walrus(x):
    return y if (y := x * 0.5 + 0.1) > 0 else -y


def comprehension(v):
    return [a * 0.5 + (0.1 if i % 2 else -0.1) for i, a in enumerate(v)]


def any_all(v, flag):
    return v * 0.9, bool(np.any(v > 0.5)) or all(a < -0.5 for a in v) or flag


def argument_defaults(x, u, gain=0.5, *, offset=0.1):
    return max(-2.0, min(2.0, x * gain + u * offset))


def extremes(v):
    return np.array([v.min(), v.max(), np.median(np.array([1.0, 2.0, 3.0])) * v[np.argmax(v)] / 4])


def shared_memory(v):
    s = np.asarray(v)
    s[0] = 0.5 * s[1]
    for i, part in enumerate(np.split(s, 2)):
        part += 0.1 * i
    return v * 1.0


def masked(v):
    v[v > 0.5] = 0.5
    return v[v > 0].sum() * np.array([0.1, 0.2, 0.3])


def sorted_values(v):
    return np.sort(v)[::-1] * np.linspace(0.5, 1.0, 3)


def caught(x, y):
    try:
        ratio = x / y
        root = math.sqrt(x)
    except ZeroDivisionError:
        ratio = root = 0.0
    except ValueError:
        root = -1.0
    return max(-1.0, min(ratio, 1.0)), root * 0.5


def numpy_numbers(v):
    return np.array([1.0 if isinstance(v[0], np.floating) else v[1], (v[0] > 0) + (v[1] > 0)])


def shrinking(x, k):
    k = 0
    while abs(x) > 1 and k < 6:
        x /= 2
        k += 1
    return x, k


def game_of_pig(score, turn_total, action, die):
    if action == "hold":
        return min(score + turn_total, 100), 0
    return (score, 0) if die == 1 else (score, min(turn_total + die, 60))


def counted(n, limit):
    count = 0
    for k in range(n):
        if k * k > limit:
            break
        count += 1
    else:
        count = 9
    return count, limit


def random_helper():
    return random.Random(0).random()
