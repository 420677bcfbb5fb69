# SPDX-License-Identifier: Apache-2.0
"""Debian packages without installing them: private apt roots fed by the machine's own mirror.

The mirror's address is read from the machine's apt sources and is spelled nowhere here. A private
root has its own sources, state and cache, an empty status file (so that the solver returns the
whole closure of a package), and takes from the machine's configuration only the `Acquire` options
(proxies and the like); the machine's own apt hooks do not run.
"""

import glob
import hashlib
import os
import re
import shutil
import subprocess
import time
import urllib.parse

from . import procs
from .common import GuestError, GuestUnavailable, Progress, say

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_SUITE = re.compile(r"^(bullseye|bookworm|trixie|forky|duke|sid|oldstable|stable|testing|unstable)"
                    r"(-updates|-backports|-proposed-updates)?$")
_SECURITY = re.compile(r"^(\w+)-security$|^\w+/updates$")
APT_TIMEOUT = 1800.0  # seconds for one apt run; a stalled mirror must not hang us for ever


class Entry:
    def __init__(self, uri, suite, components, signed_by):
        self.uri, self.suite = uri.rstrip("/"), suite
        self.components, self.signed_by = components, signed_by

    def rank(self):
        """Lower is more surely Debian itself and not a third party that borrows suite names."""
        return (not self.uri.endswith(("/debian", "/debian-security")),
                "debian-archive" not in self.signed_by)


def parse_list(text):
    """Classic one-line format."""
    entries = []
    for line in text.splitlines():
        line = line.split("#", 1)[0].strip()
        match = re.match(r"deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s*(.*)$", line)
        if match:
            options, uri, suite, components = match.groups()
            entries.append(Entry(uri, suite, components.split(), options or ""))
    return entries


def parse_sources(text):
    """deb822 format: stanzas of `Field: value`, continuation lines indented."""
    entries = []
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for stanza in re.split(r"\n\s*\n", "\n".join(lines)):
        fields, name = {}, None
        for line in stanza.splitlines():
            if line[:1] in (" ", "\t") and name:
                fields[name] += " " + line.strip()
            elif ":" in line:
                name, value = line.split(":", 1)
                name = name.strip().lower()
                fields[name] = value.strip()
        if "deb" not in fields.get("types", "").split():
            continue
        if fields.get("enabled", "yes").lower() in ("no", "false", "0"):
            continue
        for uri in fields.get("uris", "").split():
            for suite in fields.get("suites", "").split():
                entries.append(Entry(uri, suite, fields.get("components", "").split(),
                                     fields.get("signed-by", "")))
    return entries


def machine_entries(etc="/etc/apt"):
    entries = []
    for path in sorted(glob.glob(f"{etc}/sources.list") + glob.glob(f"{etc}/sources.list.d/*")):
        parser = {".list": parse_list, ".sources": parse_sources}.get(os.path.splitext(path)[1])
        if parser:
            with open(path, encoding="utf-8", errors="replace") as handle:
                entries += parser(handle.read())
    return entries


def mirrors(entries):
    """(archive, security) addresses; security is None where the machine has none."""
    usable = [e for e in entries if "main" in e.components and not e.uri.startswith("cdrom:")]
    archive = sorted((e for e in usable if _SUITE.match(e.suite)), key=Entry.rank)
    security = sorted((e for e in usable if _SECURITY.match(e.suite)), key=Entry.rank)
    if not archive:
        raise GuestUnavailable("no Debian archive found in /etc/apt/sources.list or "
                               "/etc/apt/sources.list.d: scripts/guest takes its QEMU, kernels and "
                               "tools from the mirror named there")
    return archive[0].uri, security[0].uri if security else None


class AptRoot:
    """One private apt root in the cache. `suites`: list of (suite, is_security)."""

    def __init__(self, cache, name, suites):
        self.cache, self.name, self.suites = cache, name, suites
        self.base = cache.path("apt", name, "apt.conf").parent
        self._ready = False

    def _write_configuration(self):
        for part in ("state/lists/partial", "cache/archives/partial", "debs"):
            (self.base / part).mkdir(parents=True, exist_ok=True)
        (self.base / "status").touch()
        archive, security = mirrors(machine_entries())
        if not os.path.exists(KEYRING):
            raise GuestUnavailable(f"{KEYRING} is missing: apt-get install debian-archive-keyring")
        lines = [f"deb [signed-by={KEYRING} arch=amd64] {security if secure else archive} "
                 f"{suite} main\n"
                 for suite, secure in self.suites if security or not secure]
        (self.base / "sources.list").write_text("".join(lines))
        status, acquire = procs.run(["apt-config", "dump", "Acquire"], 30)
        if status != 0:
            raise GuestError(f"apt-config failed: {acquire.strip()}")
        base = self.base
        (base / "apt.conf").write_text(acquire + f"""
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::sourcelist "{base}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "{base}/state";
Dir::State::status "{base}/status";
Dir::Cache "{base}/cache";
Acquire::Languages "none";
Acquire::GzipIndexes "true";
Acquire::Retries "3";
APT::Architecture "amd64";
APT::Architectures "amd64";
APT::Sandbox::User "";
APT::Install-Recommends "false";
""")

    def _environment(self):
        return {**os.environ, "APT_CONFIG": str(self.base / "apt.conf"), "LC_ALL": "C"}

    def _apt(self, *arguments, timeout=120.0):
        status, output = procs.run(arguments, timeout, env=self._environment(), cwd=self.base)
        if status != 0:
            tail = "\n".join(output.strip().splitlines()[-8:])
            raise GuestUnavailable(f"{' '.join(arguments[:3])} … failed with status {status} "
                                   f"(apt root {self.base}):\n{tail}")
        return output

    def update(self, force=False):
        """Fetches the package lists, unless it was done and `force` is not given."""
        stamp = self.base / "updated"
        if self._ready and not force:
            return
        self._write_configuration()
        if force or not stamp.exists():
            begin = time.monotonic()
            say(f"package lists of {', '.join(s for s, _ in self.suites)}: fetching")
            self._apt("apt-get", "-q", "update", timeout=APT_TIMEOUT)
            say(f"package lists: done in {time.monotonic() - begin:.1f} s")
            stamp.touch()
        self._ready = True

    def names(self, prefix):
        self.update()
        return self._apt("apt-cache", "pkgnames", prefix).split()

    def version(self, package):
        """The candidate's version, or None."""
        self.update()
        match = re.search(r"Candidate: (\S+)", self._apt("apt-cache", "policy", package))
        return None if not match or match.group(1) == "(none)" else match.group(1)

    def depends(self, package):
        self.update()
        output = self._apt("apt-cache", "depends", "--no-recommends", "--no-suggests", package)
        return re.findall(r"^\s+(?:Pre)?Depends: ([^\s<]+)", output, re.M)

    def _uris(self, *arguments):
        """Rows (package, version, file, bytes, sha256) that apt would fetch."""
        output = self._apt("apt-get", "-q", "-y", "--print-uris", *arguments)
        rows = []
        for name, size, digest in re.findall(r"^'[^']*' (\S+\.deb) (\d+) (\S*)", output, re.M):
            package, version = name.split("_")[:2]
            rows.append((package, urllib.parse.unquote(version), name, int(size),
                         digest.split(":", 1)[-1] if digest.startswith("SHA256:") else ""))
        return rows

    def closure(self, packages, suite=None):
        """Everything that `packages` need, by apt's own solver; as rows for `fetch`."""
        self.update()
        release = ["-t", suite] if suite else []
        return self._uris("install", "--no-install-recommends", *release, *packages)

    def exactly(self, packages):
        """Rows for just these packages, without what they depend on."""
        self.update()
        return self._uris("download", *packages)

    def fetch(self, rows, what):
        """Downloads `rows`, skipping complete files; returns the paths."""
        folder = self.base / "debs"
        total = sum(row[3] for row in rows)
        missing = [row for row in rows if not _complete(folder / row[2], row)]
        progress = Progress(f"{what}: downloading {len(rows)} packages", total)
        for begin in range(0, len(missing), 40):
            part = missing[begin:begin + 40]
            specs = [f"{package}={version}" for package, version, *_ in part]
            child = procs.spawn(["apt-get", "-q", "download", *specs], cwd=folder,
                                env=self._environment(), stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)
            end = time.monotonic() + APT_TIMEOUT
            output = b""
            os.set_blocking(child.stdout.fileno(), False)
            while child.poll() is None:
                time.sleep(0.1)
                output += child.stdout.read() or b""
                progress.update(sum(_size(folder / row[2]) for row in rows))
                if time.monotonic() > end:
                    procs.kill(child)
                    raise GuestUnavailable(f"{what}: download not finished after "
                                           f"{APT_TIMEOUT:.0f} s; run again, it goes on")
            output += child.stdout.read() or b""
            child.stdout.close()
            procs.terminate(child)
            bad = [row[2] for row in part if not _complete(folder / row[2], row)]
            if child.returncode != 0 or bad:
                tail = "\n".join(output.decode(errors="replace").strip().splitlines()[-6:])
                raise GuestUnavailable(f"{what}: download failed ({', '.join(bad[:3]) or 'apt'}); "
                                       f"run again, it goes on where it was:\n{tail}")
        progress.finish()
        return [folder / row[2] for row in rows]

    def drop(self, paths):
        for path in paths:
            path.unlink(missing_ok=True)


def _size(path):
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _complete(path, row):
    if _size(path) != row[3]:
        return False
    if not row[4]:
        return True
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest() == row[4]


def unpack(paths, folder, what):
    """Unpacks .debs over each other; with merged /usr, as every Debian since 12 has it."""
    folder.mkdir(parents=True, exist_ok=True)
    progress = Progress(f"{what}: unpacking", len(paths), "packages")
    for done, path in enumerate(paths, 1):
        status, output = procs.run(["dpkg-deb", "-x", path, folder], 300)
        if status != 0:
            raise GuestError(f"dpkg-deb cannot unpack {path}: {output.strip()}")
        progress.update(done)
    merge_usr(folder)
    progress.finish()


def merge_usr(folder):
    """Moves /bin, /sbin, /lib, /lib64 into /usr and leaves links, as `usrmerge` does."""
    for name in ("bin", "sbin", "lib", "lib64", "lib32"):
        old, new = folder / name, folder / "usr" / name
        if old.is_symlink() or not old.is_dir():
            continue
        new.mkdir(parents=True, exist_ok=True)
        for base, folders, files in os.walk(old):
            target = new / os.path.relpath(base, old)
            target.mkdir(exist_ok=True)
            for entry in list(folders):
                source = os.path.join(base, entry)
                if os.path.islink(source):
                    files.append(entry)
                    folders.remove(entry)
            for entry in files:
                destination = target / entry
                if not destination.is_symlink() and not destination.exists():
                    os.rename(os.path.join(base, entry), destination)
        shutil.rmtree(old)
        old.symlink_to(f"usr/{name}")


def bookworm(cache):
    """Backports are there for the 6.12 kernel; apt prefers the release for everything else."""
    return AptRoot(cache, "bookworm", [("bookworm", False), ("bookworm-updates", False),
                                       ("bookworm-security", True),
                                       ("bookworm-backports", False)])


def trixie(cache):
    return AptRoot(cache, "trixie", [("trixie", False), ("trixie-backports", False)])
