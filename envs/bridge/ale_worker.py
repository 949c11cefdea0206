"""Plays Atari games for Starling on ale-py itself: a worker of envs/bridge/protocol.h.

The same games, frames and ends as Gymnasium's "ALE/..." ids, with less between the actor and the
emulator. This text is part of the binary, behind that of worker_common.py, whose names it uses.
Needs ale_py and numpy.
"""
import difflib
import json

OPTIONS = {
    "full_action_space": False, "max_num_frames_per_episode": 108_000, "mode": None,
    "difficulty": None,
}
LIMIT = 2**31  # of ALE's numbers: 32 bits with a sign


def find(ale_py, name):
    """Returns the path of the ROM, or raises Mistake."""
    version, games = ale_py.__version__, ale_py.roms.get_all_rom_ids()
    if name not in games:
        near = difflib.get_close_matches(name.lower(), games, 1)
        hint = f'; did you mean "ale:{near[0]}"?' if near else ""
        raise Mistake(f'ale_py {version} has no game "{line(name)}"{hint}')
    try:
        path = ale_py.roms.get_rom_path(name)
    except OSError as error:
        raise Mistake(f"its ROM cannot be read: {line(error)}")
    if ale_py.ALEInterface.isSupportedROM(path) is None:
        raise Mistake(f"ale_py {version} has its ROM, but does not support the game")
    return path


def check(options):
    """Raises Mistake about an option that there is not, or a value of another kind."""
    for option, value in options.items():
        if option not in OPTIONS:
            known = ", ".join(OPTIONS)
            raise Mistake(f'env.options has "{line(option)}", which is none of {known}')
        if option == "full_action_space":
            fits, what = type(value) is bool, "true or false"
        else:
            fits = type(value) is int and 0 <= value < LIMIT
            what = f"a whole number from 0 to {LIMIT - 1}"
        if not fits:
            raise Mistake(f'env.options: "{option}" is {what}, not {line(json.dumps(value))}')


def choose(what, asked, available, choose_it):
    """Chooses a mode or a difficulty, unless `asked` is None."""
    if asked is None:
        return
    if asked not in available:
        those = ", ".join(str(n) for n in sorted(available))
        raise Mistake(f'env.options: "{what}" = {asked} is none that the game has: {those}')
    choose_it(asked)


def make(ale_py, path, options, seed):
    ale = ale_py.ALEInterface()
    ale.setInt("random_seed", seed % LIMIT)
    ale.setFloat("repeat_action_probability", 0.0)  # the actor has drawn them already
    ale.setInt("max_num_frames_per_episode", options["max_num_frames_per_episode"])
    ale.loadROM(path)
    choose("mode", options["mode"], ale.getAvailableModes(), ale.setMode)
    choose("difficulty", options["difficulty"], ale.getAvailableDifficulties(), ale.setDifficulty)
    return ale


def player(ale, actions, commands, row, before, lost_life_stops):
    """Returns the functions of serve() for `ale`.

    play() plays a frame for each command before SKIP, draws the newest frame into `row` and the one
    before into `before`, unless that is None.
    """
    act, over, lives, draw = ale.act, ale.game_over, ale.lives, ale.getScreenGrayscale
    most = len(commands)

    def play():
        played, count = commands.tolist(), most
        while played[count - 1] == SKIP:
            count -= 1
        rewards, last, left = 0.0, count - 1, lives()
        for frame in range(count):
            rewards += act(actions[played[frame]])
            if frame == last or over() or (lost_life_stops and lives() < left):
                break
            # This may be the frame before the newest. If no lost life stops the play, it is known.
            if before is not None and (lost_life_stops or frame == last - 1):
                draw(before)
        if before is not None and frame == 0:
            before[:] = row
        draw(row)
        if before is not None and 0 < frame < last and not lost_life_stops:
            before[:] = row  # an early end: the frame before was not drawn
        end = 0 if not over() else 1 if over(with_truncation=False) else 2
        return rewards, end, frame + 1

    def begin():
        ale.reset_game()
        draw(row)

    return play, begin, lives


def start(settings):
    numpy, ale_py = load("numpy"), load("ale_py.roms")
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    path = find(ale_py, settings["env"])
    check(settings["options"])
    options = {**OPTIONS, **settings["options"]}
    ales = [make(ale_py, path, options, seed) for seed in settings["seeds"]]
    full = options["full_action_space"]
    actions = ales[0].getLegalActionSet() if full else ales[0].getMinimalActionSet()
    height, width = ales[0].getScreenDims()
    send({
        "height": height, "width": width, "channels": 1, "bytes": True, "low": 0, "high": 255,
        "actions": {
            "counts": [len(actions)], "names": [action.name for action in actions], "masked": False
        },
        "lives": True,
    })
    words = settings["frames"]
    *shared, rows, before = share(numpy, receive(), len(ales), words, height * width, "u1")
    players = [
        player(ale, actions, shared[0][i * words:(i + 1) * words], *(
            frame if frame is None else frame.reshape(height, width)
            for frame in (rows[i], before[i])
        ), settings["lost_life_stops"])
        for i, ale in enumerate(ales)
    ]
    send({"ready": True})
    serve(shared, players, words)


run(start)
