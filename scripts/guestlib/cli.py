# SPDX-License-Identifier: Apache-2.0
"""The command line of scripts/guest."""

import argparse
import re
import shutil
import sys
import tempfile
import threading

from . import diagnose, kernels, procs, setup
from .cache import Cache
from .common import Deadline, GuestError, GuestTimeout, emit, say, set_quiet
from .guest import Guest, interactive
from .server import CARDS, Server, ensure_built

LOG_STATUS = 3
DEFAULT_CARD = "connectx5"

DESCRIPTION = """Boots a virtual machine with a stock Debian kernel and simulated ConnectX cards,
runs commands in it, prints their output and returns their status. Without --exec: a shell (or, with
standard input from a pipe, that input as the script)."""

EPILOG = """\
exit status:
  the command's own; with several guests the first that is not 0
  3    the command succeeded, but the kernel log holds a forbidden line (printed)
  70   the guest could not be made or started (the message says why)
  124  --timeout ran out; a report of who waits for whom is printed
  130, 143  ended by Ctrl-C or SIGTERM; nothing is left running

examples:
  scripts/guest --card connectx6dx --exec 'lspci -vv -d 15b3:; devlink dev info'
  scripts/guest --kernel 6.1 --card connectx5 --nics 2 --exec 'rdma link'
  scripts/guest --guests 2 --exec0 'ip -br link' --card1 connectx7 --exec1 'ibv_devinfo'
  scripts/guest --kernel ~/linux --modules ~/linux/out --exec 'uname -r'
  scripts/guest --cold --exec 'lspci'          power-on with the card in its slot (SeaBIOS sees it)

files and environment:
  The first start makes QEMU, tools, kernel and a boot snapshot in the cache (CXSIM_CACHE, else
  $XDG_CACHE_HOME/cxsim, else ~/.cache/cxsim; under 3 GB) from the Debian mirror in the machine's
  apt sources. Serial and kernel logs of the last runs lie in its logs/ folder.
  CXSIM_BINARY          cxsim to serve with, instead of scripts/cxsim
  CXSIM_GUEST_ACCEL     tcg or kvm, instead of finding out
  CXSIM_GUEST_QEMU_ARGS more arguments for QEMU (a snapshot does not know devices added so)
"""


def _parser():
    parser = argparse.ArgumentParser(
        prog="scripts/guest", description=DESCRIPTION, epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default=kernels.default_name(), metavar="6.1|6.12|newest|PATH",
                        help="kernel (default %(default)s); PATH: a bzImage or a directory that "
                             "holds one")
    parser.add_argument("--modules", metavar="DIR",
                        help="for --kernel PATH: directory with lib/modules/RELEASE")
    parser.add_argument("--card", action="append", default=[], choices=CARDS, metavar="NAME",
                        help=f"card to plug in, repeatable: {', '.join(CARDS)} (default: one "
                             f"{DEFAULT_CARD}); --cardK for guest K alone")
    parser.add_argument("--nics", type=int, metavar="N",
                        help="number of cards: the --card list is repeated up to N; 0: no card")
    parser.add_argument("--attach", action="append", default=[], metavar="SOCKET",
                        help="use a running server's socket instead of starting one, repeatable; "
                             "--attachK for guest K")
    parser.add_argument("--exec", metavar="CMD", help="bash script to run in the guest "
                        "(every guest's that has no --execK)")
    parser.add_argument("--guests", type=int, default=1, metavar="N",
                        help="number of machines at once; --exec0 CMD, --exec1 CMD, ... per "
                             "machine")
    parser.add_argument("--timeout", type=float, default=300.0, metavar="S",
                        help="seconds for everything after the cache is made (default %(default)g)")
    parser.add_argument("--memory", default="1G", metavar="SIZE",
                        help="memory of a guest (default %(default)s)")
    parser.add_argument("--cpus", type=int, default=2, metavar="N",
                        help="processors of a guest (default %(default)s)")
    parser.add_argument("--cold", action="store_true", help="boot from power-on with the cards in "
                        "their slots instead of restoring the snapshot and plugging them in")
    parser.add_argument("--no-driver", action="store_true",
                        help="do not load mlx5_core and mlx5_ib")
    parser.add_argument("--allow-log", action="append", default=[], metavar="REGEX",
                        help="kernel log lines that do not fail the run, repeatable")
    parser.add_argument("--packages", default="", metavar="'P Q'",
                        help="more Debian 12 packages in the guest")
    parser.add_argument("--serve-option", action="append", default=[], metavar="OPTION",
                        help="passed on to `cxsim serve`, repeatable")
    parser.add_argument("--prepare", action="store_true",
                        help="only make what the guest needs (with its snapshot), then stop")
    parser.add_argument("--refresh", action="store_true",
                        help="ask the mirror again and make everything anew for this kernel")
    parser.add_argument("--clean", action="store_true", help="remove the cache, then stop")
    parser.add_argument("--quiet", action="store_true", help="no progress lines")
    return parser


def parse(arguments):
    """Options, plus per-guest dictionaries for --execK, --cardK, --attachK."""
    parser = _parser()
    own = {"exec": {}, "card": {}, "attach": {}}
    rest, waiting = [], None
    for argument in arguments:
        match = re.fullmatch(r"--(exec|card|attach)(\d+)(?:=(.*))?", argument, re.S)
        if waiting:
            own[waiting[0]].setdefault(waiting[1], []).append(argument)
            waiting = None
        elif match and match.group(3) is not None:
            own[match.group(1)].setdefault(int(match.group(2)), []).append(match.group(3))
        elif match:
            waiting = (match.group(1), int(match.group(2)))
        else:
            rest.append(argument)
    if waiting:
        parser.error(f"argument --{waiting[0]}{waiting[1]}: expected one argument")
    options = parser.parse_args(rest)
    options.own = own
    if options.guests < 1:
        parser.error("argument --guests: at least 1")
    for kind, values in own.items():
        for number, given in values.items():
            if number >= options.guests:
                parser.error(f"--{kind}{number}: there are guests 0 to {options.guests - 1} "
                             "(--guests)")
            if kind == "card" and any(card not in CARDS for card in given):
                parser.error(f"--card{number}: choose from {', '.join(CARDS)}")
            if kind == "exec" and len(given) > 1:
                parser.error(f"--exec{number} given twice")
    if options.nics is not None and options.nics < 0:
        parser.error("argument --nics: 0 or more")
    if options.timeout <= 0:
        parser.error("argument --timeout: more than 0")
    for pattern in options.allow_log:
        try:
            re.compile(pattern)
        except re.error as error:
            parser.error(f"argument --allow-log: {pattern!r}: {error}")
    if options.guests > 1:
        for number in range(options.guests):
            if options.exec is None and number not in own["exec"]:
                parser.error(f"guest {number} has no command: --exec{number} CMD or --exec CMD")
    return options


def cards_of(options, number):
    cards = options.own["card"].get(number) or options.card
    if options.nics is None:
        return cards or [DEFAULT_CARD]
    cards = cards or [DEFAULT_CARD]
    return [cards[i % len(cards)] for i in range(options.nics)]


class Run:
    """One invocation: server, machines, and what to print at the end."""

    def __init__(self, options, cache, folder):
        self.options, self.cache, self.folder = options, cache, folder
        self.deadline = None
        self.server = self.sockets_folder = None
        self.guests = []
        self.statuses = [None] * options.guests

    def execute(self):
        options = self.options
        kit, found = setup.prepare(
            self.cache, options.kernel, options.memory, options.cpus, options.packages.split(),
            options.modules, options.cold, options.refresh, self.folder)
        if options.prepare:
            return 0
        if any(self._cards_to_serve()):
            ensure_built()
        self.deadline = Deadline(options.timeout)
        try:
            sockets = self._serve()
            self.guests = [Guest(kit, sockets[n], self._name(n), self.folder, options.cold, found,
                                 not options.no_driver)
                           for n in range(options.guests)]
            if self.server:
                self.server.wait_ready(self.deadline)
            for guest in self.guests:
                guest.launch()
            if options.guests == 1:
                self._one(0)
            else:
                threads = [threading.Thread(target=self._one, args=(n,), daemon=True)
                           for n in range(options.guests)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    while thread.is_alive():  # in steps, so that a signal gets through
                        thread.join(0.2)
            return next((status for status in self.statuses if status), 0)
        finally:
            for guest in self.guests:
                guest.close()
            if self.server:
                self.server.close()
                shutil.rmtree(self.sockets_folder, ignore_errors=True)

    def _name(self, number):
        return "guest" if self.options.guests == 1 else f"guest{number}"

    def _serve(self):
        """Starts one server for all cards; the socket paths per guest."""
        options = self.options
        cards = self._cards_to_serve()
        flat = [card for part in cards for card in part]
        if flat:
            # A short path: a socket's address holds 107 bytes.
            self.sockets_folder = tempfile.mkdtemp(prefix="cxsim-serve.")
            self.server = Server(flat, self.sockets_folder, self.folder / "server.log",
                                 options.serve_option).launch()
        sockets, rest = [], list(self.server.sockets) if self.server else []
        for number in range(options.guests):
            taken, rest = rest[:len(cards[number])], rest[len(cards[number]):]
            sockets.append(self._attached(number) or taken)
        return sockets

    def _attached(self, number):
        options = self.options
        return options.own["attach"].get(number) or (options.attach if number == 0 else [])

    def _cards_to_serve(self):
        return [[] if self._attached(n) else cards_of(self.options, n)
                for n in range(self.options.guests)]

    def _one(self, number):
        guest, options = self.guests[number], self.options
        status, reason = 70, ""
        try:
            guest.wait_ready(self.deadline)
            if guest.nics and not options.no_driver:
                guest.load_driver(self.deadline)
                guest.report_times()
            script = (options.own["exec"].get(number) or [options.exec])[0]
            status = self._command(guest, script)
            self._write_log(guest)
            status = self._judge(guest, status)
        except GuestTimeout as error:
            status, reason = error.exit_status, str(error)
            emit(sys.stderr, diagnose.report(guest, self.server, reason) + "\n")
        except GuestError as error:
            status = error.exit_status
            say(f"{guest.name}: {error}", always=True)
            self._write_log(guest)
            self._judge(guest, status)
            if self.server:
                say(f"server log ends:\n{self.server.log_tail()}", always=True)
        finally:
            self.statuses[number] = status
            say(f"{guest.name}: serial log {guest.serial_log}", always=status != 0)

    def _command(self, guest, script):
        if script is None and sys.stdin.isatty():
            say("shell in the guest; `exit` or Ctrl-D ends it")
            return interactive(guest)
        if script is None:
            script = sys.stdin.read()
        printer = _Printer("" if self.options.guests == 1 else f"{guest.name}| ")
        result = guest.run(script, self.deadline, printer.write)
        printer.finish()
        return result.status

    def _write_log(self, guest):
        records = guest.dmesg()
        path = self.folder / f"{guest.name}.dmesg"
        path.write_text("".join(f"{record}\n" for record in records))

    def _judge(self, guest, status):
        bad = guest.violations(self.options.allow_log)
        if not bad:
            return status
        lines = "\n".join(f"    {violation}" for violation in bad)
        say(f"{guest.name}: forbidden in the kernel log:\n{lines}", always=True)
        return status or LOG_STATUS


class _Printer:
    """Guest output to standard output, each line with a prefix when several guests speak."""

    def __init__(self, prefix):
        self._prefix, self._rest = prefix, ""

    def write(self, text):
        if not self._prefix:
            emit(sys.stdout, text)
            return
        *lines, self._rest = (self._rest + text).split("\n")
        if lines:
            emit(sys.stdout, "".join(f"{self._prefix}{line}\n" for line in lines))

    def finish(self):
        if self._rest:
            emit(sys.stdout, f"{self._prefix}{self._rest}\n")
            self._rest = ""


def main(arguments=None):
    options = parse(sys.argv[1:] if arguments is None else arguments)
    set_quiet(options.quiet)
    procs.install_signal_handlers()
    run = None
    try:
        cache = Cache()
        if options.clean:
            shutil.rmtree(cache.root)
            say(f"removed {cache.root}")
            return 0
        run = Run(options, cache, setup.new_log_folder(cache))
        return run.execute()
    except GuestError as error:
        say(str(error), always=True)
        return error.exit_status
    except KeyboardInterrupt:
        say("interrupted", always=True)
        return 130
    except BrokenPipeError:
        return 141
    finally:
        procs.terminate_all()
