"""What people write: once, in order, at the right address, also after the connection was gone."""


from tests.unit.channels.discord_rig import rig


async def test_a_direct_message_arrives_once_and_is_addressed() -> None:
    async with rig() as r:
        said = r.twin.dm("5", "hello")
        (got,) = await r.inbound()
        assert (got.address, got.key, got.text) == (r.direct("5"), said, "hello")
        assert (got.author.id, got.author.name) == ("5", "User5")
        assert got.private
        assert got.addressed
