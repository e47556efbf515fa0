"""vLLM from 0.4 on: wordings, settings, the processes of a deployment, pools, hints and failures."""
