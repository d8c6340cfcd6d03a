# Adds a script to the skill.
echo TRYING
echo 'echo owned' > "$OUTSIDE_SKILL/scripts/new.sh" && echo written
