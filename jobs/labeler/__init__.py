"""The labeler recipe: own pairs, fine-tuning, evaluation, versions, the gate, and the champion that runs pin."""
