# Two runs overlap: the second takes what the first made for something that was there, and makes it anew.
# needs: overlap
# obeyed: .vscode CLAUDE.md
echo TRYING
make() { mkdir -p .vscode; echo x > .vscode/tasks.json; echo x > CLAUDE.md; }
make
if mkdir first 2>/dev/null; then
    until [ -e second ]; do sleep 0.01; done
else
    : > second; until [ -e first/over ]; do sleep 0.01; done
    make
fi
