# Follows a link that came with the skill.
echo TRYING
cat "$OUTSIDE_SKILL/planted-link"
