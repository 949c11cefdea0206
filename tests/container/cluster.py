"""What the manifests of deploy/kubernetes want of a cluster, in containers of this machine: jobs
with their policies, addresses and their service, volumes, and eviction with grace. Kubernetes'
documentation of jobs, volumes and security contexts says what each does. All pods share one
loopback; limits and probes are ignored."""

import os
import signal
import subprocess
import time

from image import Container, eventually
from manifests import container_of, files_of, jobs_of

UNITS = {"Mi": "m", "Gi": "g"}
GRACE = 30  # seconds, if a pod says nothing else


class Pod:
    def __init__(self, container, address, grace):
        self.container, self.address, self._grace = container, address, grace
        self.disrupted = False  # its end is not its own fault
        self._killed_at = None

    def delete(self):
        """SIGTERM to its first process; SIGKILL after the time of grace, by `tick`."""
        if self._killed_at is None and not self.container.has_ended():
            self._killed_at = time.monotonic() + self._grace
            self.container.signal(signal.SIGTERM)

    def tick(self):
        if self._killed_at is not None and time.monotonic() > self._killed_at:
            self.container.remove()


def fits(rule, status, disrupted):
    """Whether a rule of a podFailurePolicy is about such an end of a pod."""
    if "onExitCodes" in rule:
        assert rule["onExitCodes"]["operator"] == "In"
        return status in rule["onExitCodes"]["values"]
    assert [each["type"] for each in rule["onPodConditions"]] == ["DisruptionTarget"]
    return disrupted


class Job:
    """The controller of one job. It starts the next pod at once, where Kubernetes waits longer with
    every failure."""

    def __init__(self, cluster, manifest):
        self.name, self._spec = manifest["metadata"]["name"], manifest["spec"]
        self.labels = self._spec["template"]["metadata"]["labels"]
        self._cluster, self._manifest = cluster, manifest
        self.pods = []  # that have not ended
        self.ended = []
        self.succeeded = self.failures = 0
        self.state = ""  # "complete", "failed" or "deleted" when it is over

    def end(self, state):
        self.state = state
        for pod in self.pods:
            pod.delete()

    def tick(self):
        for pod in [*self.pods]:
            pod.tick()
            if pod.container.has_ended():
                self.pods.remove(pod)
                self.ended.append(pod)
                self._count(pod)
        # Without a number of completions no pod follows one that succeeded, and all must end.
        wanted = 0 if self.succeeded else self._spec.get("parallelism", 1)
        if self.succeeded and not self.pods:
            self.state = self.state or "complete"
        while not self.state and len(self.pods) < wanted:
            self.pods.append(self._cluster.start(self._manifest))

    def _count(self, pod):
        status = pod.container.wait()
        fitting = [rule["action"] for rule in self._spec["podFailurePolicy"]["rules"]
                   if status and fits(rule, status, pod.disrupted)]
        action = fitting[0] if fitting else "Count" if status else "Succeed"
        self.succeeded += action == "Succeed"
        self.failures += action == "Count"
        if action == "FailJob" or self.failures > self._spec["backoffLimit"]:
            self.end("failed")


class Cluster:
    def __init__(self, image, folder):
        """`folder`: of volumes and output."""
        self._image, self.folder = image, folder
        self._objects, self._started = {}, 0
        self._deleted = []  # jobs, whose pods may still be ending
        self._claims = folder / "claims"
        self._claims.mkdir()
        self._hosts = folder / "hosts"
        self._hosts.touch()
        self.jobs = {}
        self._holder = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "--net",
                                         "sleep", "infinity"])
        self._network = f"/proc/{self._holder.pid}/ns/net"

    def begin(self):
        eventually(lambda: os.readlink(self._network) != os.readlink("/proc/self/ns/net"),
                   "a network")
        self._ip("link", "set", "lo", "up")

    def remove(self):
        for job in self._all_jobs():
            for pod in job.pods:
                pod.container.remove()
        self._holder.kill()
        self._holder.wait()

    def apply(self, objects):
        """Begins the jobs that are not there."""
        self._objects = objects
        for job in jobs_of(objects):
            self.jobs.setdefault(job["metadata"]["name"], Job(self, job))

    def delete(self, name):
        """As with --cascade=foreground: returns when its pods have ended."""
        job = self.jobs.pop(name)
        self._deleted.append(job)
        job.end("deleted")
        self.until(lambda: not job.pods, "the end of its pods")

    def until(self, condition, what):
        """Lets the controllers work until it is true, and returns its result."""
        def tick():
            for job in self._all_jobs():
                job.tick()
            self._name_pods()
            return condition()
        try:
            return eventually(tick, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.output()}") from None

    def _all_jobs(self):
        return [*self._deleted, *self.jobs.values()]

    def output(self):
        return "\n".join(f"---- {job.name}\n{pod.container.output()}" for job in self._all_jobs()
                         for pod in [*job.ended, *job.pods])

    def evict(self, pod):
        """As when its node is drained."""
        pod.disrupted = True
        pod.delete()

    def get(self, address, port, path):
        """The status and the text of a page, as another pod gets it; (0, "") without a server."""
        client = ("import sys, urllib.request as u, urllib.error as e\n"
                  "try: r = u.urlopen(sys.argv[1], timeout=10)\n"
                  "except e.HTTPError as error: r = error\n"
                  "print(r.status); print(r.read().decode())")
        done = subprocess.run(["nsenter", f"--net={self._network}", "python3", "-c", client,
                               f"http://{address}:{port}{path}"], capture_output=True, text=True)
        status, _, text = done.stdout.partition("\n")
        return int(status or 0), text

    def start(self, job):
        """A pod of the job, with an address that no other one had."""
        self._started += 1
        assert self._started < 50, "pods do not stay"
        address = f"10.77.0.{self._started}"
        self._ip("address", "add", f"{address}/32", "dev", "lo")
        template, container = job["spec"]["template"]["spec"], container_of(job)
        user = template["securityContext"]
        assert f"{user['runAsUser']}:{user['runAsGroup']}" == self._image.config["User"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        folder = self.folder / f"pod-{self._started}"
        folder.mkdir()
        mounts = [("read", self._hosts, "/etc/hosts")]
        volumes = {volume["name"]: volume for volume in template["volumes"]}
        for mount in container["volumeMounts"]:
            volume = volumes[mount["name"]]
            how, source = self._volume(volume, folder / volume["name"], user["fsGroup"])
            mounts.append((how, source, mount["mountPath"]))
        made = Container(self._image, folder, *container["args"], mounts=mounts,
                         network=self._network)
        return Pod(made, address, template.get("terminationGracePeriodSeconds", GRACE))

    def _volume(self, volume, folder, group):
        if "persistentVolumeClaim" in volume:
            claim = self._claims / volume["persistentVolumeClaim"]["claimName"]
            claim.mkdir(exist_ok=True)
            _give(claim, group, 0o2775)
            return "write", claim
        if "emptyDir" in volume:
            size = volume["emptyDir"].get("sizeLimit", "64Mi")
            return "memory", size[:-2] + UNITS[size[-2:]]
        return "read", self._files(volume, folder, group)

    def _files(self, volume, folder, group):
        """As the kubelet writes them: a directory that can be exchanged, links to what is in it,
        all of root and readable by the group of the pod."""
        chosen = volume.get("secret") or volume["configMap"]
        mode = chosen.get("defaultMode", 0o644) | 0o440  # fsGroup lets the group read
        data = folder / "..time"
        data.mkdir(parents=True)
        for path, content in files_of(volume, self._objects).items():
            (data / path).parent.mkdir(exist_ok=True)
            (data / path).write_bytes(content)
            _give(data / path, group, mode)
        for place in [data, *(each for each in data.iterdir() if each.is_dir())]:
            _give(place, group, 0o2755)
        (folder / "..data").symlink_to(data.name)
        for each in data.iterdir():
            (folder / each.name).symlink_to(f"..data/{each.name}")
        _give(folder, group, 0o3777)
        return folder

    def _name_pods(self):
        """The names of services lead to their pods, and to no pod that has ended."""
        lines = ["127.0.0.1 localhost\n"]
        for job in self._all_jobs():
            for pod in job.ended:
                if pod.address:
                    self._ip("address", "del", f"{pod.address}/32", "dev", "lo")
                    pod.address = ""
            lines += [f"{pod.address} {name}\n" for (kind, name), one in self._objects.items()
                      for pod in job.pods if kind == "Service"
                      and one["spec"]["selector"].items() <= job.labels.items()]
        if self._hosts.read_text() != "".join(lines):
            self._hosts.write_text("".join(lines))

    def _ip(self, *words):
        subprocess.run(["nsenter", f"--net={self._network}", "ip", *words], check=True)


def _give(path, group, mode):
    os.chown(path, 0, group)
    os.chmod(path, mode)
