#compdef metier
# Completes the command line of metier in zsh: put it into a directory of $fpath, as _metier.
_metier() {
    local line
    local -a lines values shown
    lines=("${(@f)$(metier complete --word="${(Q)words[CURRENT]}" -- "${(@Q)words[2,CURRENT-1]}" 2>/dev/null)}")
    for line in "${(@)lines[2,-1]}"; do
        [[ -n $line ]] || continue
        values+=("${line%%$'\t'*}")
        shown+=("${line/$'\t'/  -- }")
    done
    (( $#values )) && compadd -l -d shown -a values
    case $lines[1] in
        files) _files ;;
        directories) _files -/ ;;
    esac
}
if [ "$funcstack[1]" = _metier ]; then
    _metier "$@"
else
    compdef _metier metier
fi
