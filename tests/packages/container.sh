# Builds the image of dist/container/Containerfile with buildah, without a registry, and runs metier in a container of it.
#
#   bash container.sh SYSTEM PACKAGES      SYSTEM is a Debian system, which becomes the base image
system=$1 packages=$2
store=$PWD/store
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
buildah() { command buildah --root "$store/root" --runroot "$store/run" "$@"; }
mkdir "$store"
echo '{"default": [{"type": "insecureAcceptAnything"}]}' >"$store/policy.json"

base=$(buildah from scratch)
cp -a "$system/." "$(buildah mount "$base")"
buildah umount "$base"
buildah commit --quiet --signature-policy "$store/policy.json" "$base" localhost/base
mkdir "$store/context"
cp "$packages"/metier_*_amd64.deb "$store/context"
buildah build --quiet --pull-never --signature-policy "$store/policy.json" --build-arg BASE=localhost/base \
  --file "$TOP/dist/container/Containerfile" --tag localhost/metier "$store/context"

container=$(buildah from --pull-never --signature-policy "$store/policy.json" localhost/metier)
[ "$(buildah run "$container" -- id --user --name)" = metier ] || { echo "the container does not run as the user metier"; exit 1; }
buildah inspect --format '{{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.Cmd}} {{.OCIv1.Config.WorkingDir}}' "$container" | grep -xF '[metier] [--help] /work'
buildah run "$container" -- metier tour --fast
# What docs/install.md shows: the skills of the current directory.
buildah run --volume "$PWD/broken:/work:ro" "$container" -- metier validate && { echo "a broken skill passes"; exit 1; }
[ $? = 1 ]
