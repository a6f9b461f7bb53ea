#!/usr/bin/env python3
"""Breaks the federation in nine ways, one at a time, and expects the fault suite to notice each.

  tests/faults/mutants.py BUILD_FOLDER [WORD]    after fault_server, fault_client and faults_tests were built there;
                                                 with a word only the mutants that have it in their name

What notices a mutant must notice nothing without it, so everything is run once on the programs as they are. A mutant
is caught where exit code 1 comes with something that has a name: a violation of an invariant ("I5: life 1 ...", from
faults.py, which then has come to its end), or a test that failed ("[  FAILED  ] Replay.NothingIsAcceptedTwice").
Anything else says nothing of the mutant and is an error of this test: another exit code, a crash, or no end. No mutant
is meant to hang; the server that waits for clients which an early acknowledgement keeps away is ended by the scenario
itself, and what counts is what those clients wrote down.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
COMMITS = "commits"  # a scenario of faults.py; otherwise a filter of faults_tests
LONGEST = 300  # seconds; nothing here takes that long
VIOLATION = re.compile(r"I[1-7]: ")
FAILED_TEST = re.compile(r"\[  FAILED  \] [\w/]+\.[\w/]+")


@dataclass
class Mutant:
    name: str
    source: str
    changes: list  # (old, new), each old text exactly once
    program: str
    tests: str


LATER = """  std::vector<Bytes> later;
  std::set<std::string> models;"""
MUTANTS = [
    Mutant("no fsync", "src/core/posix_file.cpp",
           [("void PosixFile::sync() {", "void PosixFile::sync() {\n  if (!is_folder_) {\n    return;\n  }")], "fault_server", COMMITS),
    Mutant("no folder fsync", "src/core/posix_file.cpp",
           [("void PosixFile::sync() {", "void PosixFile::sync() {\n  if (is_folder_) {\n    return;\n  }")], "fault_server", COMMITS),
    Mutant("commit before the models are written", "src/store/round_log.cpp",
           [("  std::set<std::string> models;", LATER),
            ("std::string digest = blobs_.put(values.bytes());",
             "std::string digest = sha256(values.bytes());\n    later.push_back(values.bytes());"),
            ("const std::string digest = blobs_.put(state.bytes());",
             "const std::string digest = sha256(state.bytes());\n  later.push_back(state.bytes());"),
            ('  fault_point("commit.appended");',
             '  fault_point("commit.appended");\n  for (const Bytes& bytes : later) {\n    static_cast<void>(blobs_.put(bytes));\n  }\n'
             "  blobs_.sync();")], "fault_server", COMMITS),
    Mutant("an acknowledgement taken for durable", "src/net/agent.cpp",
           [("if (verdict->reason() != v1::ACCEPTED && verdict->reason() != v1::DUPLICATE) {",
             "work_->state.commit(verdict->round(), {verdict->round(), verdict->phase() + 1});\n"
             "      if (verdict->reason() != v1::ACCEPTED && verdict->reason() != v1::DUPLICATE) {")], "fault_client", COMMITS),
    Mutant("a duplicate counted twice", "src/net/phase.cpp",
           [("if (counted == digests_.end()) {", "if (true) {"),
            ("const bool is_first = digests_.emplace(client, head.digest()).second;",
             "digests_[client] = head.digest();\n  const bool is_first = true;")], "faults_tests", "Replay.*:Corruption.*"),
    Mutant("no check for finite values", "src/algorithms/answers.cpp",
           [("[](float value) { return !(std::abs(value) <= kLargestNumber); }", "[](float) { return false; }")], "faults_tests",
           "Schema.*"),
    Mutant("an announced length that is trusted", "src/net/session.cpp",
           [("if (head.size() > limits_.largest) {", "if (head.size() > ~std::uint64_t{0} - limits_.largest) {")], "faults_tests",
           "Corruption.*"),
    Mutant("a late update merged", "src/net/phase.cpp",
           [("if (closed_ || round_ != head.round() || phase_ != head.phase()) {", "if (closed_) {")], "faults_tests", "Replay.*"),
    # Beyond the eight: contents are synced after they have their names.
    Mutant("what an unfinished round left is believed", "src/store/round_log.cpp", [("blobs_.vouch_for(named());", "blobs_.vouch_for(blobs_.list());")],
           "fault_server", COMMITS),
]


class Build:
    """Builds one program with one source changed, by the build folder's own commands."""

    def __init__(self, folder, work):
        self.folder, self.work = folder, work
        self.commands = {}

    def commands_of(self, program):
        if program not in self.commands:
            output = subprocess.run(["ninja", "-C", self.folder, "-t", "commands", program], check=True, capture_output=True, text=True)
            self.commands[program] = output.stdout.splitlines()
        return self.commands[program]

    def run(self, command):
        subprocess.run(command, shell=True, check=True, cwd=self.folder, executable="/bin/bash")

    def compiling(self, commands, source, changed):
        """The words of the command that compiles a source, and what to compile instead: a folder may be compiled as one."""
        for words in (command.split(" ") for command in commands):
            path = Path(words[words.index("-c") + 1]) if "-c" in words else None
            if path == source:
                return words, changed
            if path and path.suffix == ".cxx" and f'"{source}"' in path.read_text():
                together = self.work / "together.cxx"
                together.write_text(path.read_text().replace(f'"{source}"', f'"{changed}"'))
                return words, together
        raise RuntimeError(f"{source} is not compiled for this program")

    def build(self, mutant, out):
        text = (SOURCE / mutant.source).read_text()
        for old, new in mutant.changes:
            if text.count(old) != 1:
                raise RuntimeError(f"{mutant.name}: \"{old}\" must be in {mutant.source} once: the mutant needs a new place")
            text = text.replace(old, new)
        changed, built = self.work / "mutant.cpp", self.work / "mutant.o"
        changed.write_text(text)
        commands = self.commands_of(mutant.program)
        words, source = self.compiling(commands, SOURCE / mutant.source, changed)
        for flag, value in (("-o", built), ("-MF", self.work / "d"), ("-c", source)):
            words[words.index(flag) + 1] = str(value)
        self.run(" ".join(words))
        # Before the archive, so that the archive's own is not looked for.
        self.run(commands[-1].replace(f"-o bin/{mutant.program}", f"-o {out} {built}", 1))


class Unclear(Exception):
    """Tests that ended so that nothing can be said of what they tested."""


def noticed_by(tests, programs):
    """What the tests notice about these programs, by name; empty where they pass."""
    if tests == COMMITS:
        command = [sys.executable, "-B", SOURCE / "tests/faults/faults.py", programs, COMMITS]
    else:
        command = [programs / "faults_tests", "--gtest_brief=1", "--gtest_fail_fast", f"--gtest_filter={tests}"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        raise Unclear(f"{tests} was not done after {LONGEST} s") from None
    lines = result.stdout.splitlines()
    named = [line for line in lines if (VIOLATION if tests == COMMITS else FAILED_TEST).match(line)]
    came_to_its_end = tests != COMMITS or any(line.startswith(f"{COMMITS}: ") and " violations, " in line for line in lines)
    if result.returncode == 0 and not named and came_to_its_end:
        return ""
    if result.returncode == 1 and named and came_to_its_end:
        return named[0][:110]
    raise Unclear(f"{tests} ended with {result.returncode} and named nothing: {(result.stdout + result.stderr)[-600:]}")


def programs_with(mutant, folder, build):
    """A folder of programs, one of them with the mutant in it."""
    programs = build.work / "bin"
    shutil.rmtree(programs, ignore_errors=True)
    programs.mkdir()
    for program in ("fault_server", "fault_client"):
        if program != mutant.program:
            (programs / program).symlink_to(folder / "bin" / program)
    build.build(mutant, programs / mutant.program)
    return programs


def main():
    folder = Path(sys.argv[1]).resolve()
    chosen = [mutant for mutant in MUTANTS if len(sys.argv) < 3 or sys.argv[2] in mutant.name]
    missed = 0
    try:
        for tests in dict.fromkeys(mutant.tests for mutant in chosen):
            noticed = noticed_by(tests, folder / "bin")
            if noticed:
                raise Unclear(f"{tests} fails without any mutant: {noticed}")
            print(f"passes  {tests}, without a mutant", flush=True)
        with tempfile.TemporaryDirectory(prefix="feroma-mutants-") as work:
            build = Build(folder, Path(work))
            for mutant in chosen:
                by = noticed_by(mutant.tests, programs_with(mutant, folder, build))
                missed += not by
                print(f"caught  {mutant.name}: {by}" if by else f"MISSED  {mutant.name}", flush=True)
    except Unclear as error:
        print(f"error: {error}")
        return 2
    print(f"{missed} of {len(chosen)} mutants missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
