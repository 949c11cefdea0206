"""The spaces of Gymnasium's envs: actions out of commands, observations into frames.

The build puts this text between those of worker_common.py, whose names it uses, and gym_worker.py.
"""
import math

LARGEST = 3.4028234663852886e38  # of float32
CHOICES = "values in all choices together"
MASK = "action_mask"


def check_size(shape, most):
    """Raises Mistake if an observation of `shape` has too many numbers."""
    shape = tuple(int(n) for n in shape)
    if math.prod(shape) > most:
        raise Mistake(
            f"an observation of {shape} has {math.prod(shape)} numbers; Starling takes at most "
            f"{most}"
        )


def names_of(env, count):
    """Returns the names of the actions, numbers where `env` does not name so many."""
    names = []
    if hasattr(env.unwrapped, "get_action_meanings"):
        names = [str(name) for name in env.unwrapped.get_action_meanings()]
    return names if len(names) == count else [str(i) for i in range(count)]


def check_actions(number, what, most):
    if number > most:
        raise Mistake(f"it has {number} {what}; Starling takes at most {most}")


class Actions:
    """Converts words of commands to actions of a space.

    width: words of an action; counts: of the values of each choice, or None for a box; names: those
    of the values of a single choice; reader(row): returns a function that returns the actions in
    `row`, those of an env's commands.
    """

    def __init__(self, gymnasium, numpy, env, most):
        spaces, space = gymnasium.spaces, env.action_space
        self.numpy, self.space, self.names, self.start = numpy, space, [], None
        self.reader = self.array_reader
        size = math.prod(int(n) for n in space.shape or ())
        if isinstance(space, spaces.Discrete):
            check_actions(space.n, "actions", most)
            self.counts, self.names = [int(space.n)], names_of(env, int(space.n))
            self.start, self.reader = int(space.start), self.number_reader
        elif isinstance(space, spaces.MultiDiscrete) and size > 0:
            self.counts, self.start = space.nvec.reshape(-1).tolist(), getattr(space, "start", None)
            check_actions(sum(self.counts), CHOICES, most)
        elif isinstance(space, spaces.MultiBinary) and size > 0:
            check_actions(2 * size, CHOICES, most)
            self.counts = [2] * size
        elif isinstance(space, spaces.Box) and space.dtype.kind == "f" and size > 0:
            check_actions(size, "numbers in an action", most)
            self.counts = None
        else:
            raise Mistake(
                f"its actions are {line(space)}; Starling takes Discrete, MultiDiscrete, "
                "MultiBinary and Box of floats: wrap them into one of these"
            )
        self.width = size

    def spec(self, masked):
        if self.counts is None:
            return {"low": bounds(self.space.low), "high": bounds(self.space.high)}
        return {"counts": self.counts, "names": self.names, "masked": masked}

    def number_reader(self, row):
        first = self.start

        def read():
            actions = row.tolist()
            if actions[-1] == SKIP:
                del actions[actions.index(SKIP):]
            return [action + first for action in actions] if first else actions

        return read

    def array_reader(self, row):
        numpy, space, start, box = self.numpy, self.space, self.start, self.counts is None
        firsts = row[::self.width]
        actions = numpy.frombuffer(row, "float32" if box else "int32").reshape(-1, self.width)
        # The bounds were rounded to float32.
        rounded = box and space.dtype.itemsize > 4

        def read():
            played = []
            for first, words in zip(firsts, actions):
                if first == SKIP:
                    break
                action = words.astype(space.dtype).reshape(space.shape)
                if start is not None:
                    action += start
                if rounded:
                    numpy.clip(action, space.low, space.high, out=action)
                played.append(action)
            return played

        return read


def bounds(values):
    """As JSON: None where a bound is infinite."""
    return [value if abs(value) <= LARGEST else None for value in values.reshape(-1).tolist()]


class Numbers:
    """An observed Box or MultiBinary. Rows of numbers, and arrays of more than three dimensions,
    become (1, 1, n), in C order.

    Every observed array has these: frame: (height, width, channels); dtype, low and high of its
    numbers; writer(row): returns a function that writes an observation to `row`, of `dtype`.
    """

    def __init__(self, numpy, space, low, high):
        self.numpy, self.shape = numpy, tuple(int(n) for n in space.shape)
        grid = len(self.shape) in (2, 3)
        self.frame = (self.shape + (1,))[:3] if grid else (1, 1, math.prod(self.shape))
        self.dtype = "uint8" if space.dtype == numpy.uint8 else "float32"
        self.low, self.high = max(float(low), -LARGEST), min(float(high), LARGEST)

    def writer(self, row, draw=None):
        """`draw`: writes the newest observation to a view of `row`, instead of the given one."""
        view, copyto, asarray = row.reshape(self.shape), self.numpy.copyto, self.numpy.asarray
        shape, picture = self.shape, self.dtype == "uint8"
        casting = "same_kind" if picture else "unsafe"
        if draw is not None:
            return lambda observation: draw(view)

        def write(observation):
            if getattr(observation, "shape", None) != shape:  # copyto would broadcast it
                observation = asarray(observation)
                if observation.shape != shape:
                    raise ValueError(f"an observation of shape {observation.shape}, not {shape}")
            if picture and getattr(observation, "dtype", None) != "uint8":
                observation = asarray(observation)
                if observation.dtype.kind == "u" and observation.max() > 255:  # not modulo 256
                    raise ValueError(f"an observation of {observation.max()}, which is no uint8")
            copyto(view, observation, casting)

        return write

    def scaled_writer(self, row):
        """Of bytes to a row of floats: bytes / 255, the same bits as envs/wrappers/screen.cc."""
        divide, float32 = self.numpy.divide, self.numpy.float32
        picture = self.numpy.empty(row.size, self.dtype)
        write_bytes = self.writer(picture)

        def write(observation):
            write_bytes(observation)
            divide(picture, 255, row, dtype=float32)

        return write


class OneHot:
    """An observed Discrete."""
    dtype, low, high = "float32", 0.0, 1.0

    def __init__(self, space):
        self.first, self.count = int(space.start), int(space.n)
        self.frame = (1, 1, self.count)

    def writer(self, row, draw=None):
        first, count = self.first, self.count

        def write(observation):
            value = int(observation) - first
            if not 0 <= value < count:
                raise ValueError(f"an observation of {value + first}, not of {first} to "
                                 f"{first + count - 1}")
            row.fill(0)
            row[value] = 1

        return write


class OneHots:
    """An observed MultiDiscrete: for each of its numbers one-hot, one after the other."""
    dtype, low, high = "float32", 0.0, 1.0

    def __init__(self, numpy, space):
        self.numpy, self.shape = numpy, space.nvec.shape
        self.counts = space.nvec.reshape(-1).astype("int64")
        self.first = numpy.broadcast_to(getattr(space, "start", 0), self.shape).astype("int64")
        self.frame = (1, 1, int(self.counts.sum()))

    def writer(self, row, draw=None):
        asarray, shape, first, counts = self.numpy.asarray, self.shape, self.first, self.counts
        begins = counts.cumsum() - counts

        def write(observation):
            observation = asarray(observation)
            if observation.shape != shape:
                raise ValueError(f"an observation of shape {observation.shape}, not {shape}")
            values = (observation.astype("int64") - first).reshape(-1)
            if (values < 0).any() or (values >= counts).any():
                raise ValueError(f"an observation of {line(observation.tolist())}, beyond its "
                                 "space")
            row.fill(0)
            row[begins + values] = 1

        return write


def array_of(spaces, numpy, space, name, most):
    """Returns the observed array of `space`, or raises Mistake. `name`: "" if it is all of it."""
    if isinstance(space, spaces.Discrete):
        check_size((space.n,), most)
        return OneHot(space)
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.size > 0:
        check_size((sum(space.nvec.reshape(-1).tolist()),), most)
        return OneHots(numpy, space)
    if isinstance(space, (spaces.Box, spaces.MultiBinary)) and 0 not in space.shape:
        check_size(space.shape, most)
        if isinstance(space, spaces.MultiBinary):
            return Numbers(numpy, space, 0, 1)
        return Numbers(numpy, space, numpy.min(space.low), numpy.max(space.high))
    what = f'hold "{line(name)}", which is' if name else "are"
    raise Mistake(
        f"its observations {what} {line(space)}; Starling takes Box, Discrete, MultiDiscrete and "
        "MultiBinary that are not empty, and Dict and Tuple of these: wrap it into one of them"
    )


def entries_of(spaces, space, path=()):
    """Returns the (path, space) of each entry of `space`, in its order. A path is the keys that
    lead to an entry: none, if `space` is one array. An empty Dict or Tuple counts as an entry."""
    parts = []
    if isinstance(space, spaces.Dict):
        parts = space.spaces.items()
    elif isinstance(space, spaces.Tuple):
        parts = enumerate(space.spaces)
    found = [each for key, part in parts for each in entries_of(spaces, part, path + (key,))]
    return found or [(path, space)]


def check_names(names, most, longest):
    """Raises Mistake about names of entries, of which there may be `most`, of `longest` bytes."""
    if len(names) > most:
        raise Mistake(f"its observations hold {len(names)} entries; Starling takes at most {most}: "
                      "join some into one Box")
    known = set()
    for name in names:
        size = len(name.encode(errors="surrogatepass"))
        if not name:
            raise Mistake("its observations hold an entry without a name; give its key one")
        if size > longest:
            raise Mistake(f'its observations hold "{line(name)}", a name of {size} bytes; Starling '
                          f"takes at most {longest}: shorten its keys")
        if not name.isprintable():
            raise Mistake(f"its observations hold {name!a}, a name that cannot be printed; change "
                          "its keys")
        if name in known:
            raise Mistake(f'its observations hold two entries of the name "{name}", its keys '
                          'joined by "."; rename a key of one')
        known.add(name)


def part_of(observation, path, name):
    """The entry of `observation` under the keys `path`."""
    try:
        for key in path:
            observation = observation[key]
    except (IndexError, KeyError, TypeError):
        raise ValueError(f'an observation without its entry "{name}"') from None
    return observation


def holds_mask(gymnasium, space, counts):
    """Whether observations of `space` hold a mask of actions, which are choices of `counts`."""
    return counts is not None and isinstance(space, gymnasium.spaces.Dict) and MASK in space.spaces


class Observations:
    """Converts observations of a space to rows: a frame (H, W, C) of bytes or float32, behind it a
    mask of the actions.

    A Dict or Tuple of several arrays is a frame (1, 1, n) of float32, theirs one after the other.
    `counts`: of the values of each choice, or None for a box; `settings`: those of the client.
    """

    def __init__(self, gymnasium, numpy, space, counts, settings):
        spaces, self.numpy, self.counts = gymnasium.spaces, numpy, []
        most = settings["most_numbers"]
        # 1. Take the mask out. What is "observation" beside it and nothing else is all of it.
        found, top = entries_of(spaces, space), 0
        if holds_mask(gymnasium, space, counts):
            self.counts = counts
            found = [(path, part) for path, part in found if path[0] != MASK]
            top = 1 if all(path[0] == "observation" for path, _ in found) else 0
        if not found:
            raise Mistake(f'its observations hold nothing beside "{MASK}"; add what is observed')
        # 2. The entries.
        self.paths = [path for path, _ in found]
        self.names = [".".join(str(key) for key in path[top:]) for path in self.paths]
        if len(found) > 1:
            check_names(self.names, settings["most_entries"], settings["longest_name"])
        self.arrays = [
            array_of(spaces, numpy, part, name, most) for name, (_, part) in zip(self.names, found)
        ]
        # 3. The frame that they make.
        self.sizes = [math.prod(array.frame) for array in self.arrays]
        self.frame_size = sum(self.sizes)
        self.size = self.frame_size + sum(self.counts)  # of a row
        check_size((self.size,), most)
        alone = len(found) == 1
        self.dtype = self.arrays[0].dtype if alone else "float32"
        self.frame = self.arrays[0].frame if alone else (1, 1, self.frame_size)

    def spec(self):
        """The part of the line of protocol.h that speaks of observations."""
        keys, alone = ("height", "width", "channels"), len(self.arrays) == 1
        bounds = [
            (array.low, array.high) if alone or array.dtype == "float32" else (0.0, 1.0)
            for array in self.arrays
        ]
        entries = [
            {"name": name, **dict(zip(keys, array.frame)), "low": low, "high": high}
            for name, array, (low, high) in zip(self.names, self.arrays, bounds)
        ]
        return {
            **dict(zip(keys, self.frame)), "bytes": self.dtype == "uint8",
            "low": min(low for low, _ in bounds), "high": max(high for _, high in bounds),
            "entries": [] if alone else entries,
        }

    def writer(self, row, draw):
        """Returns a function that writes an observation to `row`, of `size`; `draw`: drawer()."""
        write_frame = self.frame_writer(row[:self.frame_size], draw)
        if not self.counts:
            return write_frame
        write_mask = self.mask_writer(row[self.frame_size:])

        def write(observation):
            write_frame(observation)
            write_mask(part_of(observation, (MASK,), MASK))

        return write

    def frame_writer(self, row, draw):
        if len(self.arrays) > 1:
            return self.entries_writer(row)
        write_array, path = self.arrays[0].writer(row, draw), self.paths[0]
        if not path:
            return write_array
        name = self.names[0] or "observation"
        return lambda observation: write_array(part_of(observation, path, name))

    def entries_writer(self, row):
        parts, begin = [], 0
        for name, path, array, size in zip(self.names, self.paths, self.arrays, self.sizes):
            part = row[begin:begin + size]
            scaled = array.dtype == "uint8"
            write_part = array.scaled_writer(part) if scaled else array.writer(part)
            parts.append((name, path, write_part))
            begin += size

        def write(observation):
            for name, path, write_part in parts:
                part = part_of(observation, path, name)
                try:
                    write_part(part)
                except Exception as error:
                    raise ValueError(f'the entry "{name}": {line(error)}') from error

        return write

    def mask_writer(self, row):
        """Masks are numbers of all values one after the other, or a list of them by choices."""
        numpy, counts = self.numpy, self.counts

        def write(mask):
            by_choices = isinstance(mask, (tuple, list)) and len(mask) == len(counts)
            parts = [numpy.reshape(part, -1) for part in (mask if by_choices else [mask])]
            sizes, wanted = [part.size for part in parts], counts if by_choices else [row.size]
            if sizes != wanted:
                raise ValueError(f"an action mask of {line(sizes)} numbers, not {line(wanted)}")
            row[:] = numpy.concatenate(parts) != 0

        return write
