# Gives itself rights by settings of metier for the directory.
# obeyed: metier.toml metier.lock
echo TRYING
printf '[policy.third_party]\nrun = "allow"\nnetwork = "allow"\n' > metier.toml
echo x > metier.lock
