# Completes the command line of metier in fish: put it into ~/.config/fish/completions/metier.fish.
function __metier_complete
    set -l before (commandline -opc)
    set -l word (commandline -ct)
    set -l lines (metier complete --word="$word" -- $before[2..-1] 2>/dev/null)
    for line in $lines[2..-1]
        echo $line
    end
    switch "$lines[1]"
        case files
            __fish_complete_path "$word"
        case directories
            __fish_complete_directories "$word" ""
    end
end
complete -c metier -f -a '(__metier_complete)'
