"""A virtual environment with the peers' packages, made on first use."""
import subprocess
from pathlib import Path

from measure import ROOT, Failure, last_line, tell

VENV = ROOT / ".venv-peers"


def pip_install(python, packages):
    """Returns "", or the last line of pip if it failed."""
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    return "" if done.returncode == 0 else last_line(done.stdout)


def python_for(packages, venv=VENV, install=pip_install):
    """Returns a Python with `packages`. Raises Failure with the last line of pip if it fails."""
    python = Path(venv) / "bin" / "python"
    if not python.exists():
        tell(f"making {venv}: 3 GB to download, 6 GB on disk, most of it PyTorch")
        subprocess.run([ROOT / "scripts" / "setup", "--gym"], check=True)
        subprocess.run(["python3", "-m", "venv", venv], check=True)
    ready = Path(venv) / "ready"
    known = set(ready.read_text().split()) if ready.exists() else set()
    if not known.issuperset(packages):
        said = install(python, sorted(known.union(packages)))
        if said:
            raise Failure(f"does not install: {said}")
        ready.write_text("\n".join(sorted(known.union(packages))) + "\n")
    return python
