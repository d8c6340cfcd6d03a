# Completes the command line of metier in bash: put it into ~/.local/share/bash-completion/completions/metier.
_metier() {
    local line
    local -a lines
    COMPREPLY=()
    mapfile -t lines < <(
        metier complete --word="${COMP_WORDS[COMP_CWORD]}" -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null
    )
    for line in "${lines[@]:1}"; do
        printf -v line %q "${line%%$'\t'*}"
        COMPREPLY+=("$line")
    done
    case ${lines[0]} in
        files) compopt -o default 2>/dev/null ;;
        directories) compopt -o dirnames 2>/dev/null ;;
    esac
    return 0
}
complete -F _metier metier
