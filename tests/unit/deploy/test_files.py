"""The files that put the gateway somewhere: read as what reads them would, and held to what they promise.

Neither a container engine nor a cluster is needed: what is checked is what can be known without one.
"""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.http.health import Health
from gateway.inbound.media import MAX_BYTES
from gateway.process import GRACE_S, SEND_GRACE_S
from gateway.settings.settings import Settings, load
from tests.architecture.sources import ROOT

DEPLOY = ROOT / "deploy"
ENV = {
    "DB_PASSWORD": "p",
    "SWARMGATE_CONSOLE_TOKEN": "t" * 32,
    "TELEGRAM_BOT_TOKEN": "123456:" + "a" * 35,
}
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
CLUSTER = list(yaml.safe_load_all((DEPLOY / "kubernetes/swarmgate.yaml").read_text("utf-8")))
DRAIN_S = GRACE_S + SEND_GRACE_S


def of_kind(kind: str) -> dict[str, Any]:
    (found,) = (item for item in CLUSTER if item["kind"] == kind)
    return found


def pod() -> dict[str, Any]:
    template: dict[str, Any] = of_kind("Deployment")["spec"]["template"]
    return template


def judged(folder: Path, text: str) -> Settings:
    path = folder / "swarmgate.yaml"
    path.write_text(text, encoding="utf-8")
    return load(path, ENV)


# Settings --------------------------------------------------------------------------------------------


def test_the_settings_of_both_examples_are_judged_by_the_settings_model(tmp_path: Path) -> None:
    compose = judged(tmp_path, (DEPLOY / "compose/swarmgate.yaml").read_text("utf-8"))
    settings = next(i for i in CLUSTER if i["kind"] == "ConfigMap" and i["data"])
    cluster = judged(tmp_path, settings["data"]["swarmgate.yaml"])
    for found in (compose, cluster):
        assert found.database is not None
        assert found.database.get_secret_value().startswith("postgresql://swarmgate:p@postgres/")
        assert found.http.host == "0.0.0.0"
        assert found.http.port == 8080
        assert found.http.console_token is not None
        assert found.data_dir == Path("/data")


def test_no_secret_is_written_into_a_file() -> None:
    for path in DEPLOY.rglob("*"):
        if path.suffix in {".yaml", ".yml", ".example"} or path.name == "Dockerfile":
            for line in path.read_text("utf-8").splitlines():
                found = re.search(r"(?i)(password|token|api_key|secret)\w*[:=]\s*(\S+)", line)
                value = found[2].strip("\"'") if found and not line.strip().startswith("#") else ""
                assert not re.fullmatch(r"[A-Za-z0-9+/_-]{20,}", value), f"{path.name}: {line}"


# Image -----------------------------------------------------------------------------------------------


def instructions() -> list[tuple[str, str]]:
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    lines = re.sub(
        r"\\\n\s*", " ", "\n".join(li for li in text.splitlines() if not li.startswith("#"))
    )
    return [(li.split(" ", 1)[0], li.split(" ", 1)[1]) for li in lines.splitlines() if li.strip()]


def test_the_image_is_small_non_root_and_needs_no_writable_root() -> None:
    """The rules of hadolint that matter here: pinned bases, no cache, no root, exec form, one CMD."""
    found = instructions()
    stages = [text for name, text in found if name == "FROM"]
    assert len(stages) == 2, "what builds is not what runs"
    assert all(re.match(r"python:3\.\d+-slim-\w+( AS build)?$", stage) for stage in stages)
    run = "\n".join(text for name, text in found if name == "RUN")
    assert "--no-install-recommends" in run
    assert "rm -rf /var/lib/apt/lists/*" in run
    assert "sudo" not in run
    assert "ADD" not in {name for name, _ in found}
    assert [text for name, text in found if name == "USER"] == ["10001:10001"]
    for name in ("CMD", "ENTRYPOINT"):
        (text,) = (text for n, text in found if n == name)
        assert text.startswith("["), f"{name} in exec form, so that SIGTERM arrives"
    env = " ".join(text for name, text in found if name == "ENV")
    assert "HOME=/tmp" in env
    assert "PYTHONUNBUFFERED=1" in env
    assert dict(found)["STOPSIGNAL"] == "SIGTERM"


def test_the_image_has_every_package_and_what_is_pinned_alone() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    found = instructions()
    copies = (text.split() for name, text in found if name == "COPY" and "--from" not in text)
    copied = {path for words in copies for path in words[:-1]}
    packages = set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
    assert packages <= copied
    for line in (text for name, text in found if name == "RUN" and "pip install" in text):
        for install in re.findall(r"pip install ([^&]+)", line):
            assert "--require-hashes" in install or "--no-index" in install, install
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert ignored[1] == "*"
    assert {f"!{name}" for name in packages} <= set(ignored)
    locks = {name for name in copied if name.endswith(".lock")}
    assert {f"!{name}" for name in locks} <= set(ignored)
    assert all((ROOT / name).is_file() for name in locks)


# Compose ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gateway-a", "gateway-b"])
def test_both_gateways_are_locked_down_drain_and_wait_for_the_schema(name: str) -> None:
    service = COMPOSE["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert "/tmp" in service["tmpfs"]
    assert int(service["stop_grace_period"].removesuffix("s")) > DRAIN_S
    assert service["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
    assert "/readyz" in service["healthcheck"]["test"][-1]


def test_what_compose_names_is_there() -> None:
    services, volumes = COMPOSE["services"], COMPOSE["volumes"]
    for name, service in services.items():
        assert not set(service.get("depends_on", ())) - set(services), name
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            there = (DEPLOY / source).exists() if source.startswith(".") else source in volumes
            assert there, f"{name}: {volume}"
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:"), "nothing is open to the outside by itself"
        assert ":latest" not in service.get("image", "")
    asked = set(re.findall(r"\$\{(\w+)", (DEPLOY / "compose.yaml").read_text("utf-8")))
    example = (DEPLOY / "compose/env.example").read_text("utf-8")
    assert asked <= set(re.findall(r"^(\w+)=", example, re.MULTILINE))


def test_the_front_lets_the_largest_file_of_the_web_chat_through() -> None:
    text = (DEPLOY / "compose/nginx.conf").read_text("utf-8")
    (megabytes,) = re.findall(r"client_max_body_size (\d+)m;", text)
    assert int(megabytes) * 2**20 > MAX_BYTES


def test_prometheus_asks_both_gateways_with_the_token() -> None:
    config = yaml.safe_load((DEPLOY / "monitoring/prometheus.yml").read_text("utf-8"))
    (job,) = config["scrape_configs"]
    assert job["static_configs"][0]["targets"] == ["gateway-a:8080", "gateway-b:8080"]
    assert job["authorization"]["type"] == "Bearer"
    name = job["authorization"]["credentials_file"].rpartition("/")[2]
    assert name in COMPOSE["services"]["prometheus"]["secrets"]
    assert COMPOSE["secrets"][name]["environment"] == "SWARMGATE_CONSOLE_TOKEN"


# Kubernetes ------------------------------------------------------------------------------------------


def test_probes_ask_what_the_gateway_answers() -> None:
    routes = {route.path for route in Health.routes(object.__new__(Health))}
    (container,) = pod()["spec"]["containers"]
    paths = {
        name: container[name]["httpGet"]["path"] for name in container if name.endswith("Probe")
    }
    assert set(paths.values()) <= routes
    assert paths["livenessProbe"] == "/healthz", "a restart mends no database"
    assert paths["readinessProbe"] == "/readyz"
    assert of_kind("PodMonitor")["spec"]["podMetricsEndpoints"][0]["path"] in routes


def test_a_pod_has_time_to_drain() -> None:
    spec = pod()["spec"]
    (container,) = spec["containers"]
    sleep = float(container["lifecycle"]["preStop"]["exec"]["command"][-1])
    assert spec["terminationGracePeriodSeconds"] >= sleep + DRAIN_S + 5
    ready = container["readinessProbe"]
    assert ready["timeoutSeconds"] > 2, "the database is given two seconds"
    strategy = of_kind("Deployment")["spec"]["strategy"]["rollingUpdate"]
    assert strategy == {"maxUnavailable": 0, "maxSurge": 1}


def test_a_pod_is_locked_down() -> None:
    spec = pod()["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["automountServiceAccountToken"] is False
    for container in (*spec["containers"], *spec["initContainers"]):
        locked = container["securityContext"]
        assert locked["readOnlyRootFilesystem"] is True
        assert locked["allowPrivilegeEscalation"] is False
        assert locked["capabilities"] == {"drop": ["ALL"]}
        volumes = {volume["name"] for volume in spec["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
    labels = pod()["metadata"]["labels"]
    assert of_kind("Service")["spec"]["selector"] == labels
    assert of_kind("PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == labels


# systemd ---------------------------------------------------------------------------------------------


def test_the_unit_drains_is_locked_down_and_does_not_loop_on_a_mistake() -> None:
    lines = (DEPLOY / "swarmgate.service").read_text("utf-8").splitlines()
    unit = dict(li.split("=", 1) for li in lines if "=" in li and not li.startswith("#"))
    assert float(unit["TimeoutStopSec"]) > DRAIN_S
    assert unit["RestartPreventExitStatus"] == "2"
    assert shlex.split(unit["ExecStart"])[1] == "run"
    assert unit["NoNewPrivileges"] == unit["PrivateUsers"] == "yes"
    assert unit["ProtectSystem"] == "strict"
    assert unit["CapabilityBoundingSet"] == ""
    assert unit["ReadWritePaths"] == "/srv/swarmgate"
