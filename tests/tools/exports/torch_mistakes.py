"""Uses DIR/policy.safetensors wrongly: a policy of 5 numbers, 3 masked actions and two memories."""
import sys
from pathlib import Path

folder = Path(sys.argv[1])
sys.path.insert(0, str(folder))
import policy  # noqa: E402
import torch  # noqa: E402

net = policy.load(folder / "policy.safetensors")
seen, mask = torch.zeros(4, 5), torch.ones(4, 3)


def wants(sentence, act):
    try:
        act()
    except ValueError as error:
        assert sentence in str(error), (sentence, str(error))
        return
    raise AssertionError(f"no error: {sentence}")


wants("observation is (5,), not a tensor ('N', 5)", lambda: net(seen[0], mask))
wants("observation is (4, 3), not a tensor ('N', 5)", lambda: net(mask, mask))
wants("observation is list, not", lambda: net([[0.0] * 5], mask))
wants("action_mask is NoneType, not a tensor (4, 3)", lambda: net(seen))
wants("action_mask is (4, 1), not a tensor (4, 3)", lambda: net(seen, mask[:, :1]))
wants("action_mask is (1, 3), not a tensor (4, 3)", lambda: net(seen, mask[:1]))
wants("states has ['lstm1.h'], not ['critic.lstm1.c', 'critic.lstm1.h', 'lstm1.c', 'lstm1.h']",
      lambda: net(seen, mask, {"lstm1.h": torch.zeros(4, 5)}))
wants("is (3, 5), not a tensor (4, 5)", lambda: net(seen, mask, {
    name: torch.zeros(3, 5) for name in net(seen, mask).states}))
wants("states['lstm1.h'] is (4, 1), not", lambda: net(seen, mask, {
    name: torch.zeros(4, 1 if name == "lstm1.h" else 5) for name in net(seen, mask).states}))
wants("policy.py is no file of safetensors", lambda: policy.load(folder / "policy.py"))

# What it is for beside acting: other types, gradients, its own files.
out = net(seen, mask)
assert torch.allclose(out.logits.double(), net.double()(seen, mask).logits, atol=1e-5)
net.float()
(net(seen, mask).logits.sum() + net(seen, mask).value.sum()).backward()
assert all(parameter.grad is not None for parameter in net.parameters())
torch.save(net.state_dict(), folder / "saved.pt")
net.load_state_dict(torch.load(folder / "saved.pt"))
