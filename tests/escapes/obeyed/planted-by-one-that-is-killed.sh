# metier is killed while the script runs; the next run takes what it made for something that was there.
# needs: killing
# obeyed: .vscode CLAUDE.md
echo TRYING
mkdir -p .vscode; echo x > .vscode/tasks.json; echo x > CLAUDE.md
if mkdir first 2>/dev/null; then : > ready; sleep 5; fi
