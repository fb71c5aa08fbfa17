#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""host.py - the part of make bench-guests inside the host.

usage: host.py JOB.json

Makes a bridge with two taps for every backend and offload setting, starts two
guests that have a device on each, and measures every scenario on one backend
after the other, in an order that turns with the rounds. Only what runs between
the guests and this host is touched. Writes one line of JSON for each
measurement to the job's results file; ends with 0 if all of them were taken.
"""
import json
import os
import select
import socket
import subprocess
import sys
import time

BACKENDS = ("in-tree", "ours", "qemu")
OFF = ("csum", "gso", "guest_csum", "guest_tso4", "guest_tso6", "guest_ecn",
       "guest_ufo", "host_tso4", "host_tso6", "host_ecn", "host_ufo")
BOOT_TRIES = 4
REPLACED_MAX = 5
HANG = 60  # seconds beyond the load's own without an answer: that measurement failed


def say(text):
    print(f"bench-guests: {text}", flush=True)


def text_of(path):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read().strip()
    except OSError:
        return ""


def run(*command, check=True):
    return subprocess.run(command, check=check, stdout=subprocess.PIPE, text=True).stdout


class Net:
    """A bridge, and a tap to each guest: one backend, offloads on or off."""

    def __init__(self, index, backend, offload):
        self.index, self.backend, self.offload = index, backend, offload
        self.bridge = f"br{index}"
        self.taps = [f"t{index}a", f"t{index}b"]

    def address(self, side):
        return f"10.77.{self.index}." + {"a": "1", "b": "2", "host": "254"}[side]

    def mac(self, side):
        return f"52:54:00:77:{self.index:02x}:" + {"a": "01", "b": "02"}[side]

    def make(self):
        run("ip", "link", "add", self.bridge, "type", "bridge", "stp_state", "0",
            "forward_delay", "0")
        for tap in self.taps:
            run("ip", "tuntap", "add", tap, "mode", "tap", "vnet_hdr")
            run("ip", "link", "set", tap, "master", self.bridge, "up")
        run("ip", "addr", "add", self.address("host") + "/24", "dev", self.bridge)
        run("ip", "link", "set", self.bridge, "up")


class Host:
    """The end of the load that is not in a guest."""

    def __init__(self, job):
        self.load, self.limit = job["load"], HANG + job["seconds"]
        self.server = subprocess.Popen([self.load, "serve"])

    def start(self, command):
        return subprocess.Popen([self.load, *command], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def answer(self, what):
        try:
            out = what.communicate(timeout=self.limit)[0]
        except subprocess.TimeoutExpired:
            what.kill()
            out = "no answer"
        return what.returncode, out.strip()

    def stop(self):
        self.server.terminate()


class Guest:
    """A QEMU and what answers on its virtio-serial port."""

    def __init__(self, side, nets, job, work):
        self.side, self.job, self.number, self.buffer = side, job, 0, b""
        self.answers = {}
        at = "ab".index(side)
        path = f"{work}/port-{side}"
        self.console = f"{work}/console-{side}"
        if os.path.exists(path):
            os.unlink(path)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(1)
        command = ["qemu-system-x86_64", "-nodefaults", "-no-user-config",
                   "-display", "none", "-monitor", "none", "-no-reboot",
                   "-smp", "1", "-m", str(job["guest_mem"]),
                   "-kernel", job["vmlinux"], "-initrd", job["initrd"],
                   "-serial", f"file:{self.console}", "-device", "virtio-serial-pci",
                   "-chardev", f"socket,id=port,path={path}",
                   "-device", "virtserialport,chardev=port,name=vtap",
                   "-append", "loglevel=4 panic=-1 no_timer_check nokaslr tsc=unstable "
                   "mitigations=off cryptomgr.notests console=ttyS0"]
        if job["accel"] == "kvm":
            command += ["-accel", "kvm", "-cpu", "host"]
        else:
            command += ["-accel", "tcg", "-cpu", "max,erms=off,fsrm=off"]
        fds = []
        for net in nets:
            netdev = (f"tap,id=n{net.index},ifname={net.taps[at]},script=no,downscript=no,"
                      f"vhost={'off' if net.backend == 'qemu' else 'on'}")
            node = job["nodes"].get(net.backend)
            if node:
                fds.append(os.open(node, os.O_RDWR))
                netdev += f",vhostforce=on,vhostfd={fds[-1]}"
            device = f"virtio-net-pci,netdev=n{net.index},romfile=,mac={net.mac(side)}"
            if net.offload == "off":
                device += "".join(f",{f}=off" for f in OFF)
            command += ["-netdev", netdev, "-device", device]
        self.started = time.monotonic()
        self.log = open(f"{work}/qemu-{side}", "w+", encoding="utf-8")
        self.qemu = subprocess.Popen(command, pass_fds=fds, stdin=subprocess.DEVNULL,
                                     stdout=self.log, stderr=subprocess.STDOUT)
        for fd in fds:
            os.close(fd)
        listener.settimeout(30)
        try:
            self.port = listener.accept()[0]
        except socket.timeout:
            raise RuntimeError(f"QEMU does not start: {text_of(self.log.name)}") from None
        listener.close()

    def read(self, seconds):
        """Take in what the port has; False after so long without a byte."""
        if not select.select([self.port], [], [], seconds)[0]:
            return False
        more = self.port.recv(65536)
        if not more:
            raise RuntimeError(f"guest {self.side} died: {text_of(self.log.name)} "
                               f"{text_of(self.console)[-800:]}")
        self.buffer += more
        while b"\n" in self.buffer:
            line, self.buffer = self.buffer.split(b"\n", 1)
            line = line.decode(errors="replace").strip()
            if line.startswith("@"):
                number, status, *rest = line[1:].split(" ", 2)
                self.answers[number] = (int(status), rest[0].strip() if rest else "")
            elif line:
                say(f"guest {self.side}| {line}")
        return True

    def wait_for(self, number, limit=None):
        end = time.monotonic() + (limit or HANG + self.job["seconds"])
        while number not in self.answers:
            if not self.read(1) and time.monotonic() > end:
                self.post_mortem()
                return 124, "no answer"
        return self.answers.pop(number)

    def post_mortem(self):
        """Where QEMU's threads and the workers are when a guest says nothing."""
        pid = self.qemu.pid
        for task in sorted(os.listdir(f"/proc/{pid}/task")):
            here = f"/proc/{pid}/task/{task}"
            say(f"guest {self.side}| {task} {text_of(here + '/comm')} "
                f"{text_of(here + '/stat').split(')')[1][:3]} {text_of(here + '/wchan')} "
                f"{text_of(here + '/syscall')} {text_of(here + '/schedstat')}")
        say(f"guest {self.side}| unread {self.buffer!r}, console {text_of(self.console)[-300:]!r}")

    def start(self, command):
        self.number += 1
        self.port.sendall(f"{self.number} load {' '.join(command)}\n".encode())
        return str(self.number)

    answer = wait_for

    def cpu(self, workers):
        """Nanoseconds that QEMU's threads (or the vhost workers) ran."""
        pid, total = self.qemu.pid, 0
        for task in os.listdir(f"/proc/{pid}/task"):
            here = f"/proc/{pid}/task/{task}"
            if text_of(f"{here}/comm").startswith("vhost-") == workers:
                total += int((text_of(f"{here}/schedstat") or "0").split()[0])
        if workers:
            for task in os.listdir("/proc"):
                if task.isdigit() and text_of(f"/proc/{task}/comm") == f"vhost-{pid}":
                    total += int((text_of(f"/proc/{task}/schedstat") or "0").split()[0])
        return total

    def stop(self):
        self.qemu.terminate()
        try:
            self.qemu.wait(10)
        except subprocess.TimeoutExpired:
            self.qemu.kill()


class Bench:
    def __init__(self, job):
        self.job = job
        self.work = run("mktemp", "-d").strip()
        self.nets = [Net(i + 1, b, o) for i, (o, b) in enumerate(
            (o, b) for o in ("on", "off") for b in BACKENDS if b in job["backends"])]
        self.ends = {}
        self.failed = self.replaced = 0

    def boot(self):
        for net in self.nets:
            net.make()
        self.ends["host"] = Host(self.job)
        if not os.access("/dev/kvm", os.W_OK):
            self.job["accel"] = "tcg"
        self.boot_guests()

    def boot_guests(self):
        """Both at once, except where emulation is so slow that it hurts them."""
        if not self.job["nested"]:
            for side in "ab":
                try:
                    self.ends[side] = Guest(side, self.nets, self.job, self.work)
                except RuntimeError as e:
                    say(str(e))
        for side in "ab":
            self.wait_until_up(side)

    def wait_until_up(self, side):
        """A kernel that is emulated sometimes dies on its way up: try again."""
        for left in range(BOOT_TRIES - 1, -1, -1):
            try:
                if side not in self.ends:
                    self.ends[side] = Guest(side, self.nets, self.job, self.work)
                guest = self.ends[side]
                status, kernel = guest.wait_for("0", 600)
                if status:
                    raise RuntimeError(f"guest {side} does not come up: "
                                       f"{text_of(guest.console)[-800:]}")
                say(f"guest {side}: Linux {kernel} ({self.job['accel']}), {len(self.nets)} "
                    f"virtio devices, up after {time.monotonic() - guest.started:.0f} s")
                return
            except RuntimeError as e:
                if side in self.ends:
                    self.ends.pop(side).stop()
                if not left:
                    raise
                say(f"{e}; trying again")
                if left == 1:
                    self.job["accel"] = "tcg"

    def stop_guests(self):
        for side in "ab":
            if side in self.ends:
                self.ends.pop(side).stop()

    def guest_dev(self, net):
        return f"eth{self.nets.index(net)}"

    def snapshot(self, net):
        """Every counter that a scenario may move."""
        end, at = {}, "/sys/class/net/{}/statistics/{}"
        pending = {s: self.ends[s].start(["stat", self.guest_dev(net)]) for s in "ab"}
        pending["host"] = self.ends["host"].start(["stat", net.bridge])
        for side, what in pending.items():
            status, out = self.ends[side].answer(what)
            if status:
                raise RuntimeError(f"load stat on {side}: {out}")
            for key, value in json.loads(out).items():
                end[f"{side}.{key}"] = value
        for side, tap in zip("ab", net.taps):
            for key in ("rx_packets", "tx_packets", "rx_dropped", "tx_dropped"):
                end[f"tap-{side}.{key}"] = int(text_of(at.format(tap, key)))
        for workers in (True, False):
            end["worker_ns" if workers else "qemu_ns"] = sum(
                self.ends[s].cpu(workers) for s in "ab")
        end["module_drops"] = self.module_drops(net)
        return end

    def module_drops(self, net):
        """What our module says it dropped on this net's taps."""
        if net.backend != "ours":
            return 0
        devices = json.loads(run(self.job["tool"], "show", "--json"))
        return sum(sum(q.get("stats", {}).get("drops", {}).values())
                   for d in devices for q in d["queues"] if q.get("ifname") in net.taps)

    def client(self, load, net, source, sink):
        seconds, to = str(self.job["seconds"]), net.address(sink)
        if load == "tcp":
            return ["tcp", to, seconds]
        if load == "udp":
            return ["udp", to, seconds, "1400"]
        if load == "rr":
            return ["rr", to, seconds, "1"]
        # pktgen: the host's stands right at the tap
        if source == "host":
            return ["pktgen", net.taps["ab".index(sink)], net.mac(sink), seconds, "60"]
        mac = text_of(f"/sys/class/net/{net.bridge}/address") if sink == "host" else net.mac(sink)
        return ["pktgen", self.guest_dev(net), mac, seconds, "60"]

    def measure(self, scenario, net):
        source, sink, load = scenario["from"], scenario["to"], scenario["load"]
        before = self.snapshot(net)
        start = time.monotonic()
        what = self.ends[source].start(self.client(load, net, source, sink))
        status, out = self.ends[source].answer(what)
        took = time.monotonic() - start
        if load == "pktgen":
            time.sleep(0.3)
        after = self.snapshot(net)
        moved = {k: after[k] - before[k] for k in after}
        if status:
            raise RuntimeError(out)
        raw = json.loads(out)
        frames = sum(moved[f"tap-{s}.{k}"] for s in "ab" for k in ("rx_packets", "tx_packets"))
        found = {"seconds": took, "frames": frames, "raw": raw,
                 "retransmits": sum(moved[f"{s}.retransmits"] for s in ("a", "b", "host")),
                 "tap_drops": sum(moved[f"tap-{s}.{k}"] for s in "ab"
                                  for k in ("rx_dropped", "tx_dropped")),
                 "bridge_drops": moved["host.rx_dropped"] + moved["host.tx_dropped"],
                 "guest_drops": sum(moved[f"{s}.{k}"] for s in "ab"
                                    for k in ("rx_dropped", "tx_dropped")),
                 "module_drops": moved["module_drops"],
                 "worker_ns": moved["worker_ns"], "qemu_ns": moved["qemu_ns"]}
        if load in ("tcp", "udp"):
            found["rate"] = raw["bytes"] * 8e3 / raw["ns"] if raw["ns"] else 0
        if load == "udp":
            found["lost"] = raw["sent"] - raw["received"]
            found["sent"] = raw["sent"]
        if load == "rr":
            found["rate"] = raw["transactions"] * 1e9 / raw["ns"]
            found["median_ns"], found["p99_ns"] = raw["median_ns"], raw["p99_ns"]
        if load == "pktgen":
            key = f"tap-{source}.rx_packets" if sink == "host" else f"{sink}.rx_packets"
            found["rate"] = moved[key] * 1e9 / raw["ns"]
            found["sent"] = raw["sent"] + raw["errors"]
            found["lost"] = max(0, found["sent"] - moved[key])
        return found

    def measure_or_say(self, scenario, net):
        """A guest that died or fell silent is replaced, and gets one more try."""
        for last in (False, True):
            try:
                return self.measure(scenario, net)
            except (RuntimeError, ValueError, KeyError, OSError,
                    subprocess.CalledProcessError) as e:
                why = str(e)
            time.sleep(1)  # a QEMU that hung up may not be gone yet
            dead = [s for s in "ab" if self.ends[s].qemu.poll() is not None]
            if not dead and "no answer" not in why:
                break
            if self.replaced == REPLACED_MAX:
                raise RuntimeError(f"{why}; guests were replaced {REPLACED_MAX} times")
            self.replaced += 1
            say(f"{why}; booting the guests again")
            self.stop_guests()
            self.boot_guests()
            if last:
                break
        self.failed += 1
        return {"failed": why}

    def matrix(self):
        job, n = self.job, 0
        total = job["rounds"] * len(job["scenarios"]) * len(job["backends"])
        start = time.monotonic()
        with open(job["results"], "a", encoding="utf-8") as results:
            for turn in range(job["rounds"]):
                for scenario in job["scenarios"]:
                    nets = [x for x in self.nets if x.offload == scenario["offloads"]]
                    # Each backend comes first in its turn, and last.
                    order = nets[turn % len(nets):] + nets[:turn % len(nets)]
                    for net in order if turn % 2 == 0 else reversed(order):
                        n += 1
                        line = {"round": turn, "scenario": scenario["name"],
                                "backend": net.backend}
                        line.update(self.measure_or_say(scenario, net))
                        shown = f"{line['rate']:.1f} {scenario['unit']}" \
                            if "rate" in line else line["failed"]
                        results.write(json.dumps(line) + "\n")
                        results.flush()
                        say(f"{n}/{total} [{time.monotonic() - start:.0f} s] "
                            f"{scenario['name']} {net.backend}: {shown}")

    def stop(self):
        for end in self.ends.values():
            end.stop()


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        bench = Bench(json.load(f))
    try:
        bench.boot()
        bench.matrix()
    finally:
        bench.stop()
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
