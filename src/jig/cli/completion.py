"""`jig completion`: the scripts that teach a shell to complete jig's commands."""

from __future__ import annotations

import sys

from jig.cli.grammar import Command, Group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.cli.grammar import Args

# All three ask `jig __complete`, see complete.py, and expand nothing of what it answers.
BASH = r"""# Completion of jig for bash: eval "$(jig completion bash)"
_jig() {
    local reply program=$1
    [[ $program == "~/"* ]] && program=$HOME/${program:2}
    COMPREPLY=()
    while IFS= read -r reply; do
        case $reply in
            $'\tfile') compopt -o default 2>/dev/null ;;
            $'\tdir') compopt -o dirnames 2>/dev/null ;;
            *) COMPREPLY+=("$reply") ;;
        esac
    done < <("$program" __complete bash "$2" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
complete -F _jig jig
"""

ZSH = r"""#compdef jig
# Completion of jig for zsh: eval "$(jig completion zsh)", after compinit; or this text as _jig in a folder of $fpath.
_jig() {
    local reply name program=${(Q)words[1]}
    local -a names shown
    [[ $program == '~/'* ]] && program=$HOME/${program[3,-1]}
    for reply in "${(@f)$("$program" __complete zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
        case $reply in
            '') ;;
            $'\tfile') compset -P '-*='; _files ;;
            $'\tdir') compset -P '-*='; _files -/ ;;
            *)
                name=${reply%%$'\t'*}
                names+=("$name")
                shown+=("${name}${${reply#$name}/$'\t'/  -- }")
                ;;
        esac
    done
    (( $#names )) && compadd -l -d shown -a names
}
if [[ ${funcstack[1]} == _jig ]]; then _jig "$@"; else compdef _jig jig; fi
"""

FISH = r"""# Completion of jig for fish: jig completion fish > ~/.config/fish/completions/jig.fish
function __jig_complete
    set -l words (commandline -opc)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    set -l current (commandline -ct)
    set -l option (string match -r -- '^-.*?=' "$current")
    set -l value (string replace -r -- '^-.*?=' '' "$current")
    set -e words[1]
    for reply in ($program __complete fish $words "$current" 2>/dev/null)
        switch $reply
            case \tfile
                printf '%s\n' "$option"(__fish_complete_path $value)
            case \tdir
                printf '%s\n' "$option"(__fish_complete_directories $value '')
            case '*'
                printf '%s\n' $reply
        end
    end
end
complete -c jig -f -a '(__jig_complete)'
"""


def _print(script: str) -> int:
    sys.stdout.write(script)
    return 0


def _bash(args: Args) -> int:
    return _print(BASH)


def _zsh(args: Args) -> int:
    return _print(ZSH)


def _fish(args: Args) -> int:
    return _print(FISH)


GROUP = Group(
    "completion",
    "Let your shell complete commands, options, run configurations, targets and runs.",
    (
        Command(
            "bash",
            "Print the completion script for bash.\n\nPut the line of the example into ~/.bashrc.",
            _bash,
            examples=('eval "$(jig completion bash)"',),
        ),
        Command(
            "zsh",
            "Print the completion script for zsh.\n\nPut the line of the example into ~/.zshrc, after compinit.",
            _zsh,
            examples=('eval "$(jig completion zsh)"',),
        ),
        Command(
            "fish",
            "Print the completion script for fish.",
            _fish,
            examples=("jig completion fish > ~/.config/fish/completions/jig.fish",),
        ),
    ),
)
