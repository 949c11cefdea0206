"""deploy/kubernetes: rendered, validated, and its containers run as a cluster runs them, in the
image of deploy/Containerfile. From scripts/test --container."""

import copy
import json
import os
import re
import signal
import tempfile
import tomllib
import unittest
from pathlib import Path

import image
from cluster import Cluster
from image import ROOT, Container
from manifests import container_of, inconsistent, invalid, jobs_of, parse, render, why_not

LEARNER, ACTORS = "starling-learner", "starling-actors"
CONFIG = """
[run]
steps = 1_000_000_000
[env]
name = "catch"
[actors]
count = 4
[checkpoint]
every_steps = 20_000
"""


def setUpModule():
    if why_not():
        raise unittest.SkipTest(why_not())


class ManifestTest(unittest.TestCase):
    def test_all_are_valid_and_fit_together(self):
        for overlay in ("base", "gpu"):
            objects = render(overlay)
            self.assertEqual(len(objects), 7)
            self.assertEqual(invalid(objects) + inconsistent(objects), [])

    def test_images_are_of_this_version_and_from_the_chosen_registry(self):
        version, = re.findall(r"project\(starling VERSION ([\d.]+)",
                              (ROOT / "CMakeLists.txt").read_text())
        for overlay, of_actors in (("base", "a.b/c/starling"), ("gpu", "starling-gpu")):
            objects = render(overlay, registry="a.b/c/")
            for name, image_of in ((LEARNER, "a.b/c/starling"), (ACTORS, of_actors)):
                self.assertEqual(container_of(objects["Job", name])["image"],
                                 f"{image_of}:{version}")

    def test_a_gpu_is_wanted_where_it_is_used(self):
        objects = render("gpu")
        learner, actors = (container_of(objects["Job", name]) for name in (LEARNER, ACTORS))
        self.assertEqual(actors["resources"]["limits"]["nvidia.com/gpu"], 1)
        self.assertNotIn("nvidia.com/gpu", learner["resources"]["limits"])
        self.assertIn("--backend=cuda", actors["args"])
        self.assertNotIn("--backend=cuda", learner["args"])
        wanted = tomllib.loads((ROOT / "configs/breakout_gpu.toml").read_text())
        wanted["actors"].update(backend="auto", env_device="auto")
        wanted["updates"] = {"in_flight": 2}
        config = objects["ConfigMap", "starling-config"]["data"]["run.toml"]
        self.assertEqual(tomllib.loads(config), wanted)

    def test_the_pod_of_the_documentation_reads_the_volume(self):
        text = (ROOT / "docs/kubernetes.md").read_text()
        pod, = parse(text.partition("<<'END'\n")[2].partition("\nEND\n")[0])
        self.assertEqual(invalid({"pod": pod}), [])
        volume, = pod["spec"]["volumes"]
        claim = volume["persistentVolumeClaim"]["claimName"]
        self.assertIn(("PersistentVolumeClaim", claim), render("base"))

    def test_what_a_schema_forbids_is_found(self):
        def spec(objects):
            return objects["Job", LEARNER]["spec"]

        def pod(objects):
            return spec(objects)["template"]["spec"]
        self.assert_all_found(invalid, (
            ("backofLimit", lambda objects: spec(objects).update(backofLimit=1)),
            ("backoffLimit", lambda objects: spec(objects).update(backoffLimit="many")),
            ("replicas", lambda objects: spec(objects).update(replicas=1)),
            ("action", lambda objects: spec(objects)["podFailurePolicy"]["rules"][0].pop("action")),
            ("GracePeriod",
             lambda objects: pod(objects).update(terminationGracePeriodSeconds="2m")),
            ("name", lambda objects: pod(objects)["volumes"][0].pop("name")),
            ("name", lambda objects: pod(objects)["containers"][0].pop("name")),
            ("args", lambda objects: pod(objects)["containers"][0].update(args="starling")),
            ("selectors", lambda objects: objects["Service", LEARNER]["spec"].update(selectors={})),
            ("data", lambda objects: objects["ConfigMap", "starling-config"].update(data=[1]))))

    def test_what_does_not_fit_together_is_found(self):
        def pod(objects, job=LEARNER):
            return objects["Job", job]["spec"]["template"]["spec"]

        def container(objects):
            return pod(objects)["containers"][0]

        def service(objects):
            return objects["Service", LEARNER]["spec"]

        def args(objects, old, new, job=LEARNER):
            words = pod(objects, job)["containers"][0]["args"]
            words[words.index(old)] = new
        self.assert_all_found(inconsistent, (
            ("'starling-config'", lambda objects: objects.pop(("ConfigMap", "starling-config"))),
            ("'starling-runs'",
             lambda objects: objects.pop(("PersistentVolumeClaim", "starling-runs"))),
            ("'starling-learner'", lambda objects: objects.pop(("Service", LEARNER))),
            ("/keys/",
             lambda objects: objects["Secret", "starling-actor-keys"]["data"].popitem()),
            ("headless", lambda objects: service(objects).pop("clusterIP")),
            ("headless", lambda objects: service(objects).pop("publishNotReadyAddresses")),
            ("action Ignroe", lambda objects: objects["Job", LEARNER]["spec"]["podFailurePolicy"]
             ["rules"][0].update(action="Ignroe")),
            ("podReplacementPolicy",
             lambda objects: objects["Job", LEARNER]["spec"].pop("podReplacementPolicy")),
            ("no port stat", lambda objects: container(objects)["readinessProbe"]["httpGet"].update(
                port="stat")),
            ("completions", lambda objects: objects["Job", ACTORS]["spec"].update(completions=4)),
            ("selects no pod", lambda objects: service(objects)["selector"].update(a="b")),
            ("no port 5555", lambda objects: service(objects)["ports"][0].update(port=5556)),
            ("parallelism", lambda objects: objects["Job", ACTORS]["spec"].update(parallelism=3)),
            ("there is no 'tmp'", lambda objects: pod(objects)["volumes"].pop()),
            ("tmp is not mounted", lambda objects: container(objects)["volumeMounts"].pop()),
            ("no container learner", lambda objects: container(objects).update(name="other")),
            ("restartPolicy", lambda objects: pod(objects).update(restartPolicy="OnFailure")),
            ("no /config/runs.toml",
             lambda objects: args(objects, "/config/run.toml", "/config/runs.toml")),
            ("no port 8081", lambda objects: args(objects, "--set=status.port=8080",
                                                  "--set=status.port=8081")),
            ("no /key/actor.secret", lambda objects: args(objects, "--secret=/keys/actor.secret",
                                                          "--secret=/key/actor.secret", ACTORS)),
            ("'learner'", lambda objects: args(objects, "--connect=tcp://starling-learner:5555",
                                               "--connect=tcp://learner:5555", ACTORS))))

    def assert_all_found(self, by, mistakes):
        """`by` finds nothing without, and with each (words, change) something with these words."""
        whole = render("base")
        self.assertEqual(by(whole), [])
        for words, change in mistakes:
            objects = copy.deepcopy(whole)
            change(objects)
            with self.subTest(words):
                self.assertIn(words, "\n".join(by(objects)))


class ClusterTest(unittest.TestCase):
    def setUp(self):
        self.image = image.the_image()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        os.chmod(self.folder, 0o755)
        self.cluster = Cluster(self.image, self.folder)
        self.addCleanup(self.cluster.remove)
        self.cluster.begin()
        self.learners = 0  # that trained_learner has seen
        self.run_dir = self.folder / "claims/starling-runs/run"
        self.keys = self.folder / "keys"
        self.keys.mkdir(mode=0o777)
        os.chmod(self.keys, 0o777)
        for name in ("learner", "actor"):
            made = Container(self.image, self.folder, "starling", "keys", "new", name, "--dir",
                             "/starling/runs", mounts=[("write", self.keys, "/starling/runs")])
            self.addCleanup(made.remove)
            self.assertEqual(made.wait(), 0, made.output())

    def apply(self, overlay="base", config=CONFIG, change=None):
        objects = render(overlay, config, self.keys)
        if change:
            change(objects)
        self.cluster.apply(objects)

    def job(self, name):
        return self.cluster.jobs[name]

    def trained_learner(self):
        """The pod of a learner that is new since the last call, when it has trained with an actor
        in each slot."""
        def found():
            return (self.log().count(" listening on ") > self.learners and self.joined() >= 4
                    and self.of_learner().count(" wrote checkpoints/") > 1
                    and self.job(LEARNER).pods)
        pod, = self.cluster.until(found, "a learner with actors")
        self.learners = self.log().count(" listening on ")
        return pod

    def log(self):
        path = self.run_dir / "log"
        return path.read_text() if path.exists() else ""

    def joined(self):
        return self.of_learner().count(" joined (pid ")

    def of_learner(self):
        """The log since the last start of a learner."""
        return self.log().rpartition(" listening on ")[2]

    def await_end_of(self, pod):
        self.cluster.until(lambda: pod in [*self.job(LEARNER).ended, *self.job(ACTORS).ended],
                           "its end")

    def summary(self):
        return json.loads((self.run_dir / "summary.json").read_text())

    def test_a_run_outlasts_its_pods(self):
        # 1. The actors come first, and find no name of a learner.
        self.apply(change=lambda objects: objects.pop(("Job", LEARNER)))
        self.cluster.until(lambda: len(self.job(ACTORS).pods) == 4, "actors")
        actors = [*self.job(ACTORS).pods]
        self.apply()
        first = self.trained_learner()
        # 2. Probe and metrics are there for others.
        manifest = render("base")["Job", LEARNER]
        notes = manifest["spec"]["template"]["metadata"]["annotations"]
        probe = container_of(manifest)["readinessProbe"]["httpGet"]
        self.assertEqual(probe, {"path": "/healthz", "port": "status"})
        port = notes["prometheus.io/port"]
        self.cluster.until(lambda: self.cluster.get(first.address, port, probe["path"])[0] == 200,
                           "health")
        status, text = self.cluster.get(first.address, port, notes["prometheus.io/path"])
        self.assertIn("starling_", text)
        self.assertEqual((status, self.cluster.get(first.address, port, "/")[0]), (200, 403))
        # 3. A learner that is killed is followed by one elsewhere, with the same actors.
        first.container.signal(signal.SIGKILL)
        self.await_end_of(first)
        second = self.trained_learner()
        self.assertIn("nothing is lost", self.log())
        # 4. One that is evicted saves first.
        self.cluster.evict(second)
        self.await_end_of(second)
        self.assertEqual(second.container.wait(), 130)
        summary = self.summary()
        self.assertIn(f"v{summary['updates']:012}", summary["final_checkpoint"])
        third = self.trained_learner()
        self.assertIn(f"resuming from runs/run/{summary['final_checkpoint']}", self.log())
        self.assertEqual((self.job(LEARNER).failures, self.job(ACTORS).ended), (1, []))
        # 5. Actors that are killed and evicted are replaced.
        actors[0].container.signal(signal.SIGKILL)
        self.cluster.evict(actors[1])
        for actor in actors[:2]:
            self.await_end_of(actor)
        self.cluster.until(lambda: self.joined() >= 6, "others")
        self.assertEqual((self.job(ACTORS).failures, self.job(ACTORS).succeeded), (1, 0))
        self.assertEqual(actors[1].container.wait(), 130)
        # 6. The job of the learner is begun again, with an end of the run: all are done.
        self.cluster.delete(LEARNER)
        steps = self.summary()["steps"] + 100_000
        self.apply(change=lambda objects: container_of(objects["Job", LEARNER])["args"].append(
            f"--set=run.steps={steps}"))
        self.cluster.until(lambda: all(job.state for job in self.cluster.jobs.values()), "an end")
        self.assertEqual([self.job(name).state for name in (LEARNER, ACTORS)], ["complete"] * 2)
        self.assertEqual((self.job(LEARNER).failures, self.job(ACTORS).failures), (0, 1))
        self.assertEqual(self.job(ACTORS).succeeded, 4)
        self.assertGreaterEqual(self.summary()["steps"], steps)
        self.assertIsNone(self.summary()["error"])

    def test_a_mistake_in_the_configuration_is_not_repeated(self):
        self.apply(config=CONFIG + "fourty = 2\n")
        self.cluster.until(lambda: self.job(LEARNER).state, "an end")
        self.assertEqual((self.job(LEARNER).state, len(self.job(LEARNER).ended)), ("failed", 1))
        self.assertIn("fourty", self.job(LEARNER).ended[0].container.output())
        self.assertEqual(self.job(ACTORS).ended, [])

    def test_an_actor_without_its_gpu_says_so_and_is_not_repeated(self):
        self.apply("gpu", config=None)
        self.cluster.until(lambda: self.job(ACTORS).state and not self.job(ACTORS).pods, "an end")
        self.assertEqual(self.job(ACTORS).state, "failed")
        said = self.job(ACTORS).ended[0].container.output()
        self.assertIn('actors.backend = "cuda": ', said)
        self.assertEqual(self.job(LEARNER).ended, [])
