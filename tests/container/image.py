"""An image of deploy/Containerfile, and containers of it, without a container engine: buildah
builds it on a bare Debian, and its processes get mounts and a process table of their own, the user
and the environment that `docker run --read-only --tmpfs /tmp` gives. Nothing is left afterwards."""

import atexit
import functools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
package = ""  # for the image: its path in the repository, or "" to build one there
PATIENCE = 120  # seconds: a deadline against hanging, not an expectation

# As `docker run`: a process table of its own, 64 MiB of shared memory, a root that is only read.
# Then come triples of how, from where and to where, and after -- the command.
MOUNTS = """
root=$1; shift
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount -t tmpfs -o size=64m,mode=1777 shm "$root/dev/shm"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
while [ "$1" != -- ]; do
  if [ -f "$2" ]; then touch "$root$3"; else mkdir -p "$root$3"; fi
  case $1 in
    write) mount --bind "$2" "$root$3" ;;
    read) mount --bind "$2" "$root$3"; mount -o remount,bind,ro "$root$3" ;;
    memory) mount -t tmpfs -o "size=$2,mode=0777" memory "$root$3" ;;
  esac
  shift 3
done
shift
mount -o remount,bind,ro "$root"
exec "$@"
"""


def why_not():
    """Why no image can be built here, or ""."""
    if os.geteuid() != 0:
        return "only root makes these containers"
    missing = [name for name in ("buildah", "debootstrap", "ip") if not shutil.which(name)]
    if missing:
        return f"{' and '.join(missing)} missing: scripts/setup --container"
    namespaces = subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "true"],
                                stderr=subprocess.DEVNULL)
    return "" if namespaces.returncode == 0 else "this system lets nobody make namespaces"


def eventually(condition, what):
    """Calls `condition` until it is true, and returns its result."""
    end = time.monotonic() + PATIENCE
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"never: {what}")
        time.sleep(0.05)


@functools.cache
def the_image():
    """The image of all tests. Raises unittest.SkipTest where none can be built."""
    if why_not():
        raise unittest.SkipTest(why_not())
    made = Image()
    atexit.register(made.remove)
    return made


class Image:
    def __init__(self):
        self.dir = Path(tempfile.mkdtemp(prefix="starling-image-"))
        self._buildah = ["buildah", "--root", self.dir / "storage", "--runroot", self.dir / "state",
                         "--storage-driver", "vfs"]
        try:
            self._build()
        except BaseException:
            shutil.rmtree(self.dir)
            raise

    def _build(self):
        self._base()
        self._call("bud", "--isolation", "chroot", "--pull-never", "--format", "docker", "--tag",
                   "starling", "--file", ROOT / "deploy/Containerfile", "--build-arg",
                   "BASE=localhost/base", "--build-arg", f"PACKAGE={package}", ROOT)
        inspected = json.loads(self._call("inspect", "--type", "image", "starling"))
        self.config = inspected["Docker"]["config"]
        self.root = Path(self._call("mount", self._call("from", "--pull-never", "starling")))

    def remove(self):
        shutil.rmtree(self.dir)

    def _base(self):
        root = self.dir / "base"
        self._run("debootstrap", "--variant=minbase", "bookworm", root)
        # What the package manager of this machine needs to reach its archive.
        shutil.copytree("/etc/apt/apt.conf.d", root / "etc/apt/apt.conf.d", dirs_exist_ok=True)
        container = self._call("from", "scratch")
        self._call("add", "--quiet", container, root, "/")
        self._call("commit", "--quiet", "--rm", container, "localhost/base")
        shutil.rmtree(root)

    def _call(self, *words):
        return self._run(*self._buildah, *words)

    @staticmethod
    def _run(*words):
        words = [str(word) for word in words]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
        return done.stdout.strip()


class Container:
    """The command, or that of the image. `runs` is the volume /starling/runs, if there are no other
    `mounts`; output is kept beside it. `network` is the file of a network namespace."""

    def __init__(self, image, runs, *command, mounts=None, network="/proc/self/ns/net"):
        self._image = image
        self._output_path = runs.parent / f"container-{time.monotonic_ns()}"
        config = image.config
        inside = [*config["Entrypoint"], *(command or config["Cmd"])]
        mounts = mounts or [("write", runs, "/starling/runs")]
        # The kernel ends all processes of its table with the first one.
        with open(self._output_path, "wb") as out:
            self._unshare = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "nsenter", f"--net={network}", "unshare",
                 "--mount", "--pid", "--fork", "--kill-child", "bash", "-euc", MOUNTS, "bash",
                 image.root, *(word for mount in mounts for word in mount), "--",
                 "chroot", image.root, *self._as_user(), *self._inside(inside)],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)

    def _as_user(self):
        # The kernel forgets --kill-child when the user changes.
        user, group = self._image.config["User"].split(":")
        return ["setpriv", "--reuid", user, "--regid", group, "--clear-groups", "--pdeathsig",
                "KILL"]

    def _inside(self, words):
        config = self._image.config
        return ["env", "-i", "-C", config["WorkingDir"], *config["Env"], *map(str, words)]

    def output(self):
        return self._output_path.read_text(errors="replace")

    def first_pid(self):
        """The id, outside, of its first process."""
        children = Path(f"/proc/{self._unshare.pid}/task/{self._unshare.pid}/children")
        return int(self.until(children.read_text, "its first process"))

    def pids_of(self, name):
        """The ids, outside, of its processes of this name."""
        table = os.readlink(f"/proc/{self.first_pid()}/ns/pid")
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                if (place / "comm").read_text().strip() == name[:15] and \
                        os.readlink(place / "ns/pid") == table:
                    found.append(int(place.name))
            except OSError:
                pass  # it has just ended
        return found

    def until(self, condition, what):
        """Calls `condition` until it is true, while the container is there."""
        def look():
            ended = self.has_ended()
            found = condition()
            if ended and not found:
                raise AssertionError(f"it has ended without {what}:\n{self.output()}")
            return found
        return eventually(look, what)

    def execute(self, *words):
        """As `docker exec`: (exit status, output)."""
        user = self._image.config["User"].split(":")
        done = subprocess.run(
            ["nsenter", "--target", str(self.first_pid()), "--mount", "--pid", "--root", "--setuid",
             user[0], "--setgid", user[1], "--", *self._inside(words)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def signal(self, number):
        """To its first process, if it has not just ended."""
        try:
            os.kill(self.first_pid(), number)
        except (AssertionError, OSError):
            self.wait()

    def has_ended(self):
        return self._unshare.poll() is not None

    def wait(self):
        """The exit status of its first process; 1 if that was killed."""
        try:
            return self._unshare.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end:\n{self.output()}") from None

    def remove(self):
        """The kernel lets go of the first process when all others are gone."""
        if not self.has_ended():
            self.signal(signal.SIGKILL)
            self._unshare.wait()
