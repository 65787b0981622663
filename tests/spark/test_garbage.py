"""Java is told of garbage until it is about to end, and not while it ends."""

from threading import Event, Thread

from engine.spark.jvm.py4j_garbage import Garbage


class SlowJava:
    """Notes what it is told, and when told of `slow`, waits until it may go on."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.queued: list[str] = []
        self.was_reached = Event()
        self.may_go_on = Event()

    def garbage_collect_object(self, target_id: str, enqueue: bool = True) -> None:
        if enqueue:
            self.queued.append(target_id)
            return
        if target_id == "slow":
            self.was_reached.set()
            assert self.may_go_on.wait(60)
        self.told.append(target_id)


def test_java_is_told_until_the_end() -> None:
    java = SlowJava()
    garbage = Garbage(java)

    java.garbage_collect_object("before", False)
    garbage.end()
    java.garbage_collect_object("after", False)
    java.garbage_collect_object("freed later")

    assert java.told == ["before"]
    assert java.queued == ["freed later"]


def test_the_end_waits_for_the_message_that_is_on_its_way() -> None:
    java = SlowJava()
    garbage = Garbage(java)
    sender = Thread(target=java.garbage_collect_object, args=("slow", False))
    told_at_the_end: list[list[str]] = []

    def end() -> None:
        garbage.end()
        told_at_the_end.append(list(java.told))

    sender.start()
    assert java.was_reached.wait(60)
    ender = Thread(target=end)
    ender.start()
    java.garbage_collect_object("freed meanwhile")  # needs no turn
    java.may_go_on.set()
    ender.join(60)
    sender.join(60)

    assert told_at_the_end == [["slow"]]
    assert java.queued == ["freed meanwhile"]
