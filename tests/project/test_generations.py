"""Every generation of project files that exists opens unchanged."""

from jig.project import ComputeTarget, CondaSpec, Requirement, RunConfig, SparkPackage, SparkSpec

SECRET = "AzureMlSecret={}#me#0123456789abcdef0123456789abcdef"


def test_json_run_configuration(sample):
    opened = sample("json")
    assert opened.run_config("docker") == RunConfig(
        name="docker",
        target="docker",
        environment_variables=(("EXAMPLE_ENV_VAR", "Example Value"),),
        framework="PySpark",
        framework_line=9,
        conda_file_named=True,
        description="Runs in a container",
    )
    assert opened.run_config("old_vm") == RunConfig(
        name="old_vm", target="old_vm", argument_vector=("train.py", "--rate", "0.1"), prepare_environment=False
    )


def test_old_type_spellings(sample):
    opened = sample("json")
    assert opened.compute_target("docker") == ComputeTarget(
        "docker", "localdocker", base_docker_image="microsoft/mmlspark:0.7"
    )
    assert opened.compute_target("old_vm") == ComputeTarget("old_vm", "remotedocker", "10.0.0.4", "me")


def test_what_attach_wrote(sample):
    opened = sample("attach")
    assert opened.target_names() == ("hdi", "myhdi", "own", "remotedocker", "vm")
    assert opened.run_config("vm") == RunConfig("vm", "vm", framework_line=1, prepare_environment=False)
    assert opened.compute_target("vm") == ComputeTarget(
        "vm",
        "remotedocker",
        "vm.example.com",
        "me",
        SECRET.format("vm"),
        base_docker_image="microsoft/mmlspark:plus-0.7.9",
    )
    assert opened.compute_target("hdi") == ComputeTarget("hdi", "cluster", "hdi-ssh.example.net", "sshuser")
    assert opened.compute_target("remotedocker") == ComputeTarget(
        "remotedocker",
        "remotedocker",
        "10.0.0.5",
        "0123",
        SECRET.format("remotedocker"),
        base_docker_image="microsoft/mmlspark:plus-0.9.9",
        shared_volumes=True,
        native_shared_directory="~/.azureml/share/",
        user_managed_environment=False,
    )
    assert opened.compute_target("myhdi") == ComputeTarget(
        "myhdi", "cluster", "hdi-ssh.example.net", "sshuser", yarn_deploy_mode="client"
    )
    assert opened.compute_target("own") == ComputeTarget(
        "own",
        "remote",
        "gpu.example.org",
        "me",
        python_location="/opt/conda/bin/python",
        user_managed_environment=True,
    )


def test_templates(sample):
    opened = sample("template")
    assert opened.compute_target("local") == ComputeTarget("local", "local")
    assert opened.compute_target("docker") == ComputeTarget(
        "docker", "localdocker", base_docker_image="microsoft/mmlspark:plus-0.9.9", shared_volumes=False
    )
    variables = (("EXAMPLE_ENV_VAR", "Example Value"),)
    assert opened.run_config("local") == RunConfig(
        name="local",
        target="local",
        environment_variables=variables,
        framework="Python",
        framework_line=12,
        conda_file_named=True,
        spark_file_named=True,
    )
    assert opened.run_config("docker") == RunConfig(
        name="docker", target="docker", environment_variables=variables, framework_line=6, prepare_environment=False
    )


def test_template_dependencies(sample):
    opened = sample("template")
    wheel = (
        "https://store.example.net/wheels/azureml.assets-1.0-py3-none-any.whl"
        "?sv=2016-05-31&si=ro&sr=c&sig=xnUdTm0B%2F%2FfknhTaRInBXyu2QTTt8wA3OsXwGVgU%2BJk%3D"
    )
    assert opened.conda() == CondaSpec(
        file="aml_config/conda_dependencies.yml",
        name="project_environment",
        channels=("conda-forge",),
        packages=(
            Requirement("python=3.5.2", 7),
            Requirement("pandas", 8),
            Requirement("tensorflow", 10),
            Requirement("ipykernel=4.6.1", 11),
        ),
        pip=(
            Requirement("--index-url https://packages.example.com/simple", 13),
            Requirement("--extra-index-url https://azuremlsdk.example.com/CLI/latest", 14),
            Requirement("azure-ml-api-sdk==0.1.0a11", 15),
            Requirement("azureml.datacollector==0.1.0a13", 16),
            Requirement(wheel, 17),
        ),
    )
    assert opened.spark() == SparkSpec(
        file="aml_config/spark_dependencies.yml",
        configuration=(("spark.app.name", "Classify MNIST"), ("spark.yarn.maxAppAttempts", "1")),
        repositories=("https://maven.example.net/maven",),
        packages=(
            SparkPackage("com.microsoft.ml.spark", "mmlspark_2.11", "0.7.91"),
            SparkPackage("com.microsoft.sqlserver", "mssql-jdbc", "6.2.1.jre8"),
        ),
    )


def test_sampling_and_data_sources(sample):
    opened = sample("sampling")
    config = opened.run_config("docker")
    assert config == RunConfig(
        name="docker",
        target="docker",
        argument_vector=("train.py", "234", "-v"),
        environment_variables=(("DEBUG", "true"), ("EMPTY", "")),
        client_variables=("HF_TOKEN",),
        framework="Python",
        framework_line=10,
        conda_file="Config/conda_gpu.yml",
        conda_file_named=True,
        tracked_run=False,
        use_sampling=False,
        data_source_settings=(("iris.dsource", "Top1000"),),
        data_source_substitutions=(("iris.dsource", "iris-full.dsource"),),
    )
    assert opened.conda(config.conda_file) == CondaSpec(
        "Config/conda_gpu.yml",
        packages=(Requirement("python=3.5.2", 1),),
        pip=(Requirement("tensorflow-gpu", 1),),
    )


def test_the_gpu_article(sample):
    opened = sample("seeds")
    assert opened.compute_target("my_dsvm") == ComputeTarget(
        "my_dsvm",
        "remotedocker",
        "my_dsvm_ip_address",
        "my_name",
        "AzureMlSecret=my_dsvm#my_name#0123456789abcdef0123456789abcdef",
        base_docker_image="microsoft/mmlspark:plus-gpu-0.9.9",
        shared_volumes=True,
        nvidia_docker=True,
        native_shared_directory="~/.azureml/share/",
    )
    assert opened.run_config("my_dsvm") == RunConfig(
        "my_dsvm", "my_dsvm", framework="Python", framework_line=8, prepare_environment=False
    )
    assert opened.conda() == CondaSpec(
        "aml_config/conda_dependencies.yml",
        packages=(Requirement("python=3.5.2", 3), Requirement("tensorflow-gpu", 5)),
    )
    wheels = {
        "cntk": "GPU/cntk-2.1-cp35-cp35m-linux_x86_64.whl",
        "cntk_windows": "GPU/cntk-2.1-cp35-cp35m-win_amd64.whl",
        "cntk_1bit": "GPU-1bit-SGD/cntk-2.1-cp35-cp35m-linux_x86_64.whl",
    }
    for name, wheel in wheels.items():
        assert opened.conda(f"aml_config/{name}.yml") == CondaSpec(
            f"aml_config/{name}.yml",
            packages=(Requirement("python=3.5.2", 3),),
            pip=(Requirement(f"https://cntk.ai/PythonWheel/{wheel}", 6),),
        )


def test_spark_file_of_2018(sample):
    assert sample("spark").spark() == SparkSpec("aml_config/spark_dependencies.yml")
