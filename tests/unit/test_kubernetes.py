"""The manifests against Kubernetes' own schemas, and against each other: what one names, another one has.

KubeRay's and the Airflow chart's schemas are in no package, so of those two only the parts that are Kubernetes' own are
held to a schema (pods, volumes, environment); of their other fields the names are compared with those listed here.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from jobs.settings import Settings

INFRA = Path(__file__).resolve().parents[2] / "infra"
FOLDER = INFRA / "kubernetes"
SCHEMAS = yaml.safe_load((FOLDER.parents[1] / "tests" / "schemas" / "kubernetes.json").read_text())
VALUES = yaml.safe_load((FOLDER / "airflow-values.yaml").read_text())
NO_MANIFEST = ("airflow-values.yaml", "kustomization.yaml")
FILES = sorted(path.name for path in FOLDER.glob("*.yaml") if path.name not in NO_MANIFEST)
MANIFESTS = [document for name in FILES for document in yaml.safe_load_all((FOLDER / name).read_text())]
CORE = "io.k8s.api.core.v1."
DEFINITIONS = {
    ("v1", "Namespace"): CORE + "Namespace",
    ("v1", "ConfigMap"): CORE + "ConfigMap",
    ("v1", "PersistentVolumeClaim"): CORE + "PersistentVolumeClaim",
    ("v1", "Service"): CORE + "Service",
    ("apps/v1", "Deployment"): "io.k8s.api.apps.v1.Deployment",
    ("networking.k8s.io/v1", "NetworkPolicy"): "io.k8s.api.networking.v1.NetworkPolicy",
}
CHART_KEYS = {
    *("executor", "airflowVersion", "defaultAirflowRepository", "defaultAirflowTag", "useStandardNaming", "data"),
    *("fernetKeySecretName", "apiSecretKeySecretName", "jwtSecretName", "postgresql", "redis", "statsd"),
    *("createUserJob", "env", "extraEnv", "extraEnvFrom", "volumes", "volumeMounts", "securityContexts", "scheduler"),
    *("dagProcessor", "triggerer", "apiServer", "logs", "dags"),
}
RUNNERS = {"SEMLABEL_JOB_RUNNER", "SEMLABEL_SPARK_JOB_RUNNER", "SEMLABEL_RAY_JOB_RUNNER"}  # read by the DAG files


def name_of(manifest: dict[str, Any]) -> str:
    return f"{manifest['kind']} {manifest['metadata']['name']}"


def faults(document: Any, definition: str) -> list[str]:
    schema = {"$ref": f"#/$defs/{definition}", "$defs": SCHEMAS["$defs"]}
    found = jsonschema.Draft202012Validator(schema).iter_errors(document)
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in found]


def pod_templates() -> Iterator[tuple[str, dict[str, Any]]]:
    for manifest in MANIFESTS:
        spec = manifest.get("spec", {})
        groups = [spec.get("headGroupSpec"), *spec.get("workerGroupSpecs", [])] if "rayVersion" in spec else [spec]
        yield from ((name_of(manifest), group["template"]) for group in groups if "template" in group)


def containers() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, template in pod_templates():
        yield from ((name, container) for container in template["spec"]["containers"])


def named(key: str, *documents: Any) -> set[str]:
    """Every value that a key has anywhere."""
    found: set[str] = set()
    for document in documents:
        if isinstance(document, dict):
            found |= {document[key]} if isinstance(document.get(key), str) else set()
            found |= named(key, *document.values())
        elif isinstance(document, list):
            found |= named(key, *document)
    return found


def referred(kind: str, *documents: Any) -> set[str]:
    """The names in every `<kind>Ref: {name: ...}`."""
    found: set[str] = set()
    for document in documents:
        if isinstance(document, dict):
            found |= {part["name"] for key, part in document.items() if key in (f"{kind}Ref", f"{kind}KeyRef")}
            found |= referred(kind, *document.values())
        elif isinstance(document, list):
            found |= referred(kind, *document)
    return found


@pytest.mark.parametrize("manifest", MANIFESTS, ids=name_of)
def test_a_manifest_has_the_fields_that_kubernetes_knows(manifest: dict[str, Any]) -> None:
    if manifest["kind"] != "RayCluster":
        assert faults(manifest, DEFINITIONS[manifest["apiVersion"], manifest["kind"]]) == []


def test_a_wrong_field_is_noticed() -> None:
    deployment = next(m for m in MANIFESTS if m["kind"] == "Deployment")
    assert faults(deployment | {"spec": deployment["spec"] | {"replica": 2}}, DEFINITIONS["apps/v1", "Deployment"])


def test_the_ray_cluster_has_groups_with_pods_that_kubernetes_knows() -> None:
    cluster = next(m for m in MANIFESTS if m["kind"] == "RayCluster")
    assert cluster["apiVersion"] == "ray.io/v1"
    assert set(cluster["spec"]) == {
        *("rayVersion", "authOptions", "enableInTreeAutoscaling", "autoscalerOptions"),
        *("headGroupSpec", "workerGroupSpecs"),
    }
    templates = [template for name, template in pod_templates() if name == "RayCluster semlabel"]
    assert len(templates) == 3 and all(faults(template, CORE + "PodTemplateSpec") == [] for template in templates)
    gpus = [group["groupName"] for group in cluster["spec"]["workerGroupSpecs"] if named("nvidia.com/gpu", group)]
    assert gpus == ["gpu"]
    lock = (INFRA / "local" / "requirements.lock").read_text()
    assert f"ray=={cluster['spec']['rayVersion']} " in lock, "the image's Ray and the cluster's are one version"


def test_the_charts_values_hold_what_kubernetes_knows() -> None:
    assert set(VALUES) <= CHART_KEYS
    for key, kind in (("env", "EnvVar"), ("volumes", "Volume"), ("volumeMounts", "VolumeMount")):
        assert [fault for part in VALUES[key] for fault in faults(part, CORE + kind)] == []
    for key, kind in (("extraEnv", "EnvVar"), ("extraEnvFrom", "EnvFromSource")):
        assert [fault for part in yaml.safe_load(VALUES[key]) for fault in faults(part, CORE + kind)] == []
    assert faults(VALUES["securityContexts"]["pod"], CORE + "PodSecurityContext") == []
    assert faults(VALUES["securityContexts"]["containers"], CORE + "SecurityContext") == []
    lock = (INFRA / "local" / "requirements.lock").read_text()
    assert f"apache-airflow=={VALUES['airflowVersion']} " in lock


def test_every_manifest_is_applied() -> None:
    kustomization = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
    assert sorted(kustomization["resources"]) == FILES


def test_what_a_manifest_refers_to_exists() -> None:
    extra = [yaml.safe_load(VALUES["extraEnv"]), yaml.safe_load(VALUES["extraEnvFrom"])]
    everything = (*MANIFESTS, VALUES, *extra)
    for kind, key, found in (
        ("PersistentVolumeClaim", "claimName", named("claimName", *everything)),
        ("ConfigMap", "configMap", referred("configMap", *everything)),
    ):
        assert found and found <= {m["metadata"]["name"] for m in MANIFESTS if m["kind"] == kind}, key
    services = {m["metadata"]["name"] for m in MANIFESTS if m["kind"] == "Service"}
    services |= {f"{m['metadata']['name']}-head-svc" for m in MANIFESTS if m["kind"] == "RayCluster"}  # by KubeRay
    hosts = set(re.findall(r'[/"]([\w-]+)\.semlabel\.svc', "".join(path.read_text() for path in FOLDER.glob("*.yaml"))))
    assert hosts == {"mlflow", "spark-connect", "semlabel-head-svc", "model-server"} <= services


def test_every_secret_is_explained_and_none_has_a_value_here() -> None:
    assert not [name_of(m) for m in MANIFESTS if m["kind"] == "Secret"]
    extra = yaml.safe_load(VALUES["extraEnv"])
    used = referred("secret", *MANIFESTS, extra) | named("secretName", *MANIFESTS, VALUES["volumes"])
    used |= {VALUES["data"]["metadataSecretName"], *(VALUES[key] for key in VALUES if key.endswith("SecretName"))}
    told = set(re.findall(r"^ *\| `(semlabel-[\w-]+)` \|", (INFRA / "README.md").read_text(), re.MULTILINE))
    assert used == told


def test_a_service_and_a_policy_select_pods_that_exist() -> None:
    pods = [template["metadata"]["labels"] for _, template in pod_templates() if "metadata" in template]
    cluster = next(m for m in MANIFESTS if m["kind"] == "RayCluster")["metadata"]["name"]
    pods += [{"ray.io/cluster": cluster, "ray.io/node-type": kind} for kind in ("head", "worker")]  # by KubeRay
    pods += [
        {"tier": "airflow", "component": part} for part in ("api-server", "scheduler", "triggerer")
    ]  # by the chart
    selectors = [m["spec"]["selector"] for m in MANIFESTS if m["kind"] == "Service"]
    policies = [m["spec"] for m in MANIFESTS if m["kind"] == "NetworkPolicy"]
    peers = [
        peer
        for spec in policies
        for rule in spec.get("ingress", []) + spec.get("egress", [])
        for side in rule.values()
        for peer in side
        if "podSelector" in peer
    ]
    selectors += [part["podSelector"].get("matchLabels", {}) for part in (*policies, *peers)]
    for selector in selectors:
        assert any(selector.items() <= labels.items() for labels in pods), selector


def test_a_deployment_says_when_it_is_ready_and_who_may_come_in() -> None:
    policies = [m["spec"] for m in MANIFESTS if m["kind"] == "NetworkPolicy"]
    for manifest in MANIFESTS:
        if manifest["kind"] == "Deployment":
            labels = manifest["spec"]["template"]["metadata"]["labels"]
            assert any(policy["podSelector"].get("matchLabels") == labels for policy in policies), name_of(manifest)
            for container in manifest["spec"]["template"]["spec"]["containers"]:
                assert "readinessProbe" in container, container["name"]


def test_a_probe_and_a_service_ask_at_a_port_that_the_pod_has() -> None:
    for _, container in containers():
        ports = {port["name"] for port in container.get("ports", [])}
        assert named("port", *(container.get(f"{kind}Probe") for kind in ("startup", "readiness", "liveness"))) <= ports
    for manifest in (m for m in MANIFESTS if m["kind"] == "Service"):
        templates = {name.split()[1]: template for name, template in pod_templates()}
        pods = templates[manifest["metadata"]["name"]]["spec"]["containers"]
        assert named("targetPort", manifest) <= {port["name"] for pod in pods for port in pod.get("ports", [])}


def test_a_file_that_a_setting_names_is_of_a_secret_that_is_mounted() -> None:
    n_files = 0
    for name, template in pod_templates():
        for container in template["spec"]["containers"]:
            mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
            for one in container.get("env", []):
                if one.get("value", "").startswith("/"):
                    assert str(Path(one["value"]).parent) in mounts, (name, one)
                    n_files += 1
    assert n_files >= 9


@pytest.mark.parametrize(("name", "container"), list(containers()), ids=lambda value: str(value)[:20])
def test_a_container_asks_for_little_and_may_little(name: str, container: dict[str, Any]) -> None:
    assert {"cpu", "memory"} <= set(container["resources"]["requests"]) and container["resources"]["limits"]["memory"]
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    assert "." not in container["image"].split("/")[0], f"{name}: where images come from is said in kustomization.yaml"


@pytest.mark.parametrize(("name", "template"), list(pod_templates()), ids=lambda value: str(value)[:20])
def test_a_pod_runs_as_nobody_in_particular(name: str, template: dict[str, Any]) -> None:
    context = template["spec"]["securityContext"]
    assert context["runAsNonRoot"] and context["seccompProfile"] == {"type": "RuntimeDefault"}
    mounts = {mount["name"] for container in template["spec"]["containers"] for mount in container["volumeMounts"]}
    assert mounts == {volume["name"] for volume in template["spec"]["volumes"]}, name


def test_every_setting_is_one_that_the_jobs_know() -> None:
    text = "".join(path.read_text() for path in FOLDER.glob("*.yaml"))
    known = {f"SEMLABEL_{name.upper()}" for name in Settings.model_fields} | RUNNERS
    assert set(re.findall(r"SEMLABEL_[A-Z_]+", text)) <= known
    settings = next(m for m in MANIFESTS if m["metadata"]["name"] == "semlabel-settings")["data"]
    values = {key.removeprefix("SEMLABEL_").lower(): value for key, value in settings.items() if key not in RUNNERS}
    assert Settings(**values, _env_file=None).vacuum_hours == 168


def test_rounds_run_where_ray_is_and_with_an_engine_that_the_image_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in the scheduler's pod would look for a Ray beside it, since the address is `auto`."""
    from semlabel_dags.job_runners import RAY, job_task
    from semlabel_dags.ray_job_task import RayJobTask

    settings = next(m for m in MANIFESTS if m["metadata"]["name"] == "semlabel-settings")["data"]
    for one in VALUES["env"]:
        if one["name"] in RUNNERS:
            monkeypatch.setenv(one["name"], one["value"])
    tasks = [job_task(job, values={}) for job in RAY]
    assert settings["SEMLABEL_RAY_ADDRESS"] == "auto" and all(type(task) is RayJobTask for task in tasks)
    connections = {one["name"] for one in yaml.safe_load(VALUES["extraEnv"])}
    assert {f"AIRFLOW_CONN_{task.conn_id.upper()}" for task in tasks} <= connections
    assert settings["SEMLABEL_ENGINE"] in ("cascade", "prefill"), "the image is of the lock, which has no SGLang"
