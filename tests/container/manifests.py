"""The manifests of deploy/kubernetes: rendered by kubectl, and what is wrong with them."""

import base64
import json
import shutil
import subprocess
import tempfile
import tomllib
from pathlib import Path

from image import ROOT

VENV = ROOT / ".venv-kubernetes/bin"
VERSIONS = ("1.29", "1.37")  # of Kubernetes: the oldest of docs/kubernetes.md, the newest


def why_not():
    """Why no manifest can be rendered and validated here, or ""."""
    if shutil.which("kubectl") and (VENV / "kubernetes-validate").exists():
        return ""
    return "kubectl or kubernetes-validate missing: scripts/setup --container"


def render(overlay, config=None, keys=None, registry=""):
    """The objects of deploy/kubernetes/`overlay`, by (kind, name); with this text as run.toml, and
    the keys of a folder or files that are no keys. `registry` stands before the images of base."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "kubernetes"
        shutil.copytree(ROOT / "deploy/kubernetes", copy, ignore=shutil.ignore_patterns("keys"))
        if config is not None:
            (copy / overlay / "run.toml").write_text(config)
        chosen = copy / "base/kustomization.yaml"
        chosen.write_text(chosen.read_text().replace("newName: ", f"newName: {registry}"))
        if keys:
            shutil.copytree(keys, copy / "base/keys")
        else:
            (copy / "base/keys").mkdir()
            for name in ("learner.secret", "learner.public", "actor.secret", "actor.public"):
                (copy / "base/keys" / name).write_text("none\n")
        text = subprocess.run(["kubectl", "kustomize", copy / overlay], check=True, text=True,
                              capture_output=True).stdout
    return {(one["kind"], one["metadata"]["name"]): one for one in parse(text)}


def parse(text):
    """The documents of a YAML text."""
    to_json = "import json, sys, yaml; json.dump(list(yaml.safe_load_all(sys.stdin)), sys.stdout)"
    return json.loads(subprocess.run([VENV / "python", "-c", to_json], input=text, check=True,
                                     text=True, capture_output=True).stdout)


def files_of(volume, objects):
    """{path: bytes} of a volume that is a ConfigMap or a Secret. Raises KeyError if it, or a file
    that it chooses, is missing."""
    if "configMap" in volume:
        data = objects["ConfigMap", volume["configMap"]["name"]]["data"]
        return {name: text.encode() for name, text in data.items()}
    secret = volume["secret"]
    data = objects["Secret", secret["secretName"]]["data"]
    items = secret.get("items") or [{"key": name, "path": name} for name in data]
    return {item["path"]: base64.b64decode(data[item["key"]]) for item in items}


def jobs_of(objects):
    return [one for (kind, _), one in objects.items() if kind == "Job"]


def container_of(job):
    container, = job["spec"]["template"]["spec"]["containers"]
    return container


def invalid(objects):
    """What the schemas of VERSIONS say against them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "all.json"
        # JSON is YAML; one document for each object.
        path.write_text("\n---\n".join(json.dumps(one) for one in objects.values()))
        return [line for version in VERSIONS for line in subprocess.run(
            [VENV / "kubernetes-validate", "--strict", "--quiet", "-k", version, path], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.splitlines()]


def inconsistent(objects):
    """Where they do not fit together: what no schema knows."""
    found = []
    for job in jobs_of(objects):
        try:
            faults = _faults_of_job(job, objects)
        except KeyError as error:
            faults = [f"there is no {error}"]
        found += [f"{job['metadata']['name']}: {fault}" for fault in faults]
    for (kind, name), one in objects.items():
        if kind == "Service" and not _jobs_behind(one, objects):
            found.append(f"service {name} selects no pod")
        if kind == "Service" and (one["spec"].get("clusterIP") != "None" or
                                  not one["spec"].get("publishNotReadyAddresses")):
            found.append(f"service {name} is not headless, or waits for pods that are ready")
    return found


def _faults_of_job(job, objects):
    return [*_faults_of_volumes(job, objects), *_faults_of_policy(job),
            *_faults_of_ports(job, objects)]


def _faults_of_volumes(job, objects):
    """Every volume is mounted, and every path in the command is a file of one."""
    volumes = {volume["name"]: volume for volume in job["spec"]["template"]["spec"]["volumes"]}
    files = set()
    for mount in container_of(job)["volumeMounts"]:
        volume = volumes.pop(mount["name"])
        if "persistentVolumeClaim" in volume:
            _ = objects["PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]]
        elif "emptyDir" not in volume:
            paths = [Path(mount["mountPath"], path) for path in files_of(volume, objects)]
            files.update(map(str, [*paths, *(path.parent for path in paths)]))
    values = [word.rpartition("=")[2] for word in container_of(job)["args"]]
    return [*(f"volume {name} is not mounted" for name in volumes),
            *(f"there is no {value}" for value in values
              if value.startswith("/") and value not in files)]


def _faults_of_policy(job):
    """A failed pod is one that has ended, and one that succeeded says that the run is over."""
    spec, found = job["spec"], []
    if spec["template"]["spec"]["restartPolicy"] != "Never":
        found.append("podFailurePolicy wants restartPolicy: Never")
    if spec.get("podReplacementPolicy") != "Failed":
        found.append("podFailurePolicy wants podReplacementPolicy: Failed")
    if "completions" in spec:
        found.append("completions are counted")
    name = container_of(job)["name"]
    for rule in spec["podFailurePolicy"]["rules"]:
        if rule["action"] not in ("Ignore", "FailJob", "FailIndex", "Count"):
            found.append(f"there is no action {rule['action']}")
        of = rule.get("onExitCodes", {}).get("containerName", name)
        if of != name:
            found.append(f"there is no container {of}")
    return found


def _faults_of_ports(job, objects):
    """Addresses lead to ports that are there, and the learner waits for all actors."""
    container, found = container_of(job), []
    ports = {port["containerPort"]: port["name"] for port in container.get("ports", [])}
    notes = job["spec"]["template"]["metadata"].get("annotations", {})
    named = [notes["prometheus.io/port"]] if notes else []
    for word in container["args"]:
        if word.startswith(("--set=wire.endpoint=tcp://", "--set=status.port=")):
            named.append(word.rpartition("=")[2].rpartition(":")[2])
        elif word.startswith("--connect=tcp://"):
            name, _, port = word.partition("//")[2].partition(":")
            service = objects["Service", name]
            if int(port) not in {each["port"] for each in service["spec"]["ports"]}:
                found.append(f"service {name} has no port {port}")
            config = tomllib.loads(objects["ConfigMap", "starling-config"]["data"]["run.toml"])
            if config["actors"]["count"] != job["spec"]["parallelism"]:
                found.append("parallelism is not actors.count")
    if "readinessProbe" in container:
        probed = container["readinessProbe"]["httpGet"]["port"]
        if probed not in ports.values():
            found.append(f"the container has no port {probed}")
    return found + [f"the container has no port {port}" for port in named
                    if int(port) not in ports]


def _jobs_behind(service, objects):
    """Jobs whose pods have its labels and its ports."""
    wanted = service["spec"]["selector"].items()
    ports = {port["port"] for port in service["spec"]["ports"]}
    return [job for job in jobs_of(objects)
            if wanted <= job["spec"]["template"]["metadata"]["labels"].items()
            and ports <= {port["containerPort"] for port in container_of(job).get("ports", [])}]
